package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk/frame"
)

const (
	// readBytes is how much is read at once.
	readBytes = 128 << 10
	// linger is how long records wait for more to travel with.
	linger = 4 * time.Millisecond
)

// peer is a connection that is read from. One goroutine uses it.
type peer struct {
	*reader
	conn    net.Conn
	buf     []byte
	lo, hi  int // what is read and not taken yet
	builder frame.Builder
}

func newPeer(r *reader, c net.Conn) *peer { return &peer{reader: r, conn: c} }

// stream sends what the peer says under whatever run there is.
func (p *peer) stream(ctx context.Context) error {
	for {
		if _, err := p.reader.stream.current(ctx); err != nil {
			return nil
		}
		records, err := p.gather(ctx)
		if len(records) > 0 {
			if err := p.deliver(ctx, records); err != nil {
				p.fail(err)
				return nil
			}
		}
		if err != nil {
			return p.ended(err)
		}
	}
}

// ended says what the end of a connection means.
func (p *peer) ended(err error) error {
	switch left := p.hi - p.lo; {
	case errors.Is(err, io.EOF) && left == 0:
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("it ended within a record, of which %d bytes were there; they are dropped", left)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("it said nothing for idle_timeout")
	}
	return err
}

// gather reads until there is a record, and takes with it what else comes at
// once, up to what a frame should hold. The records are good until the next
// call. An error may come beside records that were read before it.
func (p *peer) gather(ctx context.Context) (records [][]byte, err error) {
	var until time.Time
	for size := 0; ; {
		record, n, err := p.decoder.Next(p.buf[p.lo:p.hi])
		switch {
		case err != nil:
			return records, err
		case n > 0 && len(records) > 0 && (len(records) >= p.limits.FrameRecords || size+len(record) > p.limits.FrameBytes):
			return records, nil
		case n > 0:
			p.lo += n
			size += len(record)
			records = append(records, record)
			if len(records) == 1 {
				until = time.Now().Add(linger)
			}
			continue
		case len(records) > 0 && (p.hi == len(p.buf) || !time.Now().Before(until)):
			return records, nil // what was found must not move
		case len(records) > 0:
			err = p.read(until)
		default:
			err = p.fill(ctx)
		}
		if len(records) > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
	}
}

// fill reads more, with credit, and makes room for it.
func (p *peer) fill(ctx context.Context) error {
	p.hi, p.lo = copy(p.buf, p.buf[p.lo:p.hi]), 0
	if p.hi == len(p.buf) {
		p.buf = slices.Grow(p.buf, max(readBytes, len(p.buf)))
		p.buf = p.buf[:cap(p.buf)]
	}
	if _, err := p.events.WaitCredit(ctx); err != nil {
		return err
	}
	var until time.Time
	if p.set.IdleTimeout > 0 {
		until = time.Now().Add(p.set.IdleTimeout)
	}
	return p.read(until)
}

// read reads once, until a time; zero: for ever.
func (p *peer) read(until time.Time) error {
	if err := p.conn.SetReadDeadline(until); err != nil {
		return err
	}
	n, err := p.conn.Read(p.buf[p.hi:])
	p.hi += n
	if n > 0 {
		return nil // an error comes again
	}
	return err
}
