package tap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Body is what a request says.
type Body = kmsg.Request

const (
	// headBytes are length, key, version, correlation id and the length of the
	// client id.
	headBytes = 14
	// maxShown bounds a request that is read whole. Requests that carry records
	// are larger, and nobody asks for them here.
	maxShown = 4 << 20
)

// pass reads requests from the client and writes them to the broker as they
// are.
func (t *Tap) pass(n uint64, client net.Conn, broker io.Writer) {
	in := bufio.NewReaderSize(client, 64<<10)
	for {
		head, err := in.Peek(headBytes)
		if err != nil {
			return
		}
		size := 4 + int64(binary.BigEndian.Uint32(head))
		if t.keys[int16(binary.BigEndian.Uint16(head[4:]))] && size <= maxShown {
			err = t.passShown(n, client, in, broker, int(size))
		} else {
			_, err = io.CopyN(broker, in, size)
		}
		if err != nil {
			return
		}
	}
}

func (t *Tap) passShown(n uint64, client net.Conn, in io.Reader, broker io.Writer, size int) error {
	frame := make([]byte, size)
	if _, err := io.ReadFull(in, frame); err != nil {
		return err
	}
	id, body, err := parse(frame[4:])
	if err != nil {
		t.fail(fmt.Errorf("read a request of %s: %w", client.RemoteAddr(), err))
	} else {
		t.show(Request{Conn: n, Peer: client.RemoteAddr(), Client: id, Body: body})
	}
	_, err = broker.Write(frame)
	return err
}

// parse reads a request behind its length.
func parse(b []byte) (client string, body Body, err error) {
	key, version := int16(binary.BigEndian.Uint16(b)), int16(binary.BigEndian.Uint16(b[2:]))
	body = kmsg.RequestForKey(key)
	if body == nil || version > body.MaxVersion() {
		return "", nil, fmt.Errorf("key %d, version %d is not known", key, version)
	}
	body.SetVersion(version)
	b = b[8:]
	if n := int(int16(binary.BigEndian.Uint16(b))); n > len(b)-2 {
		return "", nil, errors.New("its client id is longer than all of it")
	} else if n > 0 {
		client, b = string(b[2:2+n]), b[2+n:]
	} else {
		b = b[2:]
	}
	if body.IsFlexible() {
		if b, err = skipTags(b); err != nil {
			return "", nil, err
		}
	}
	if err := body.ReadFrom(b); err != nil {
		return "", nil, fmt.Errorf("%s, version %d: %w", kmsg.NameForKey(key), version, err)
	}
	return client, body, nil
}

// skipTags passes over the tagged fields of a header.
func skipTags(b []byte) ([]byte, error) {
	short := errors.New("the tagged fields of its header are cut off")
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, short
	}
	for b = b[n:]; count > 0; count-- {
		_, tag := binary.Uvarint(b)
		if tag <= 0 {
			return nil, short
		}
		size, n := binary.Uvarint(b[tag:])
		if n <= 0 || size > uint64(len(b)-tag-n) {
			return nil, short
		}
		b = b[tag+n+int(size):]
	}
	return b, nil
}
