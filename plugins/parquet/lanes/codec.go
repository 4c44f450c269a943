package lanes

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// A commit is a line and a JSON object. The line says what the file is, the
// version of the format, the CRC-32C of what follows and its length, so that
// a file that is cut short or damaged is refused.
const (
	suffix  = ".lanes"
	magic   = "twg-lanes"
	version = 1
	header  = "%s %d %08x %d\n"
	maxLine = 64
	maxBody = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type entryJSON struct {
	ID      string       `json:"id"`
	Kind    string       `json:"kind"` // change, checkpoint
	NextID  uint64       `json:"next_id"`
	Streams []streamJSON `json:"streams"`
	Lanes   []partJSON   `json:"lanes"`
	Windows []windowJSON `json:"windows"`
	Gone    []uint64     `json:"gone"`
}

type streamJSON struct {
	Cluster     string `json:"cluster"`
	Topic       string `json:"topic"`
	Incarnation string `json:"incarnation"`
	Partition   int32  `json:"partition"`
}

type partJSON struct {
	Lane   string     `json:"lane"`
	Stream int        `json:"stream"`
	Held   [][2]int64 `json:"held,omitempty"`
	Aside  [][2]int64 `json:"set_aside,omitempty"`
	Void   []voidJSON `json:"void,omitempty"`
	Floor  int64      `json:"live_floor,omitempty"`
}

type voidJSON struct {
	From   int64 `json:"from"`
	Next   int64 `json:"next"`
	Reason uint8 `json:"reason"`
}

type windowJSON struct {
	ID      uint64 `json:"id"`
	Lane    string `json:"lane"`
	Stream  int    `json:"stream"`
	From    int64  `json:"from"`
	Next    int64  `json:"next"`
	State   string `json:"state"`
	Retry   bool   `json:"retry_set_aside,omitempty"`
	Holder  string `json:"holder,omitempty"`
	Fence   uint64 `json:"fence"`
	Version uint64 `json:"lease_version"`
}

const (
	kindChange     = "change"
	kindCheckpoint = "checkpoint"
)

type dictionary struct {
	index map[sdk.Stream]int
	list  []streamJSON
}

func (d *dictionary) of(s sdk.Stream) int {
	k, ok := d.index[s]
	if !ok {
		k = len(d.list)
		d.index[s] = k
		d.list = append(d.list, streamJSON{s.Cluster, s.Topic, s.Incarnation, s.Partition})
	}
	return k
}

func pairs(is []coverage.Interval) [][2]int64 {
	var out [][2]int64
	for _, i := range is {
		out = append(out, [2]int64{i.From, i.Next})
	}
	return out
}

// encode writes an entry.
func encode(w io.Writer, e *entry) error {
	d := &dictionary{index: map[sdk.Stream]int{}, list: []streamJSON{}}
	j := entryJSON{ID: hex.EncodeToString(e.id[:]), Kind: kindChange, NextID: e.nextID,
		Lanes: []partJSON{}, Windows: []windowJSON{}, Gone: append([]uint64{}, e.gone...)}
	if e.checkpoint {
		j.Kind = kindCheckpoint
	}
	for _, p := range e.parts {
		pj := partJSON{Lane: p.lane, Stream: d.of(p.stream), Held: pairs(p.held), Aside: pairs(p.aside), Floor: p.floor}
		for _, v := range p.void {
			pj.Void = append(pj.Void, voidJSON{v.From, v.Next, uint8(v.Reason)})
		}
		j.Lanes = append(j.Lanes, pj)
	}
	for _, w := range e.windows {
		j.Windows = append(j.Windows, windowJSON{w.ID, w.Lane, d.of(w.Stream), w.From, w.Next, w.State.String(),
			w.RetrySetAside, w.Holder, w.Fence, w.LeaseVersion})
	}
	j.Streams = d.list
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	_, err = w.Write(sealed(body))
	return err
}

// sealed puts the line before a body.
func sealed(body []byte) []byte {
	line := fmt.Sprintf(header, magic, version, crc32.Checksum(body, castagnoli), len(body))
	return append([]byte(line), body...)
}

// decode reads an entry of size bytes.
func decode(r io.ReaderAt, size int64) (*entry, error) {
	if size > maxBody {
		return nil, fmt.Errorf("it has %d bytes: it is damaged, or was not written by twg", size)
	}
	b := make([]byte, size)
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read %d bytes: %w", len(b), err)
	}
	body, err := checked(b)
	if err != nil {
		return nil, err
	}
	var j entryJSON
	if err := json.Unmarshal(body, &j); err != nil {
		return nil, err
	}
	return j.entry()
}

// checked takes the line off and holds the rest against it.
func checked(b []byte) ([]byte, error) {
	line, body, found := bytes.Cut(b[:min(len(b), maxLine)], []byte{'\n'})
	if !found {
		return nil, fmt.Errorf("it does not begin as twg's files do: it is cut short or damaged")
	}
	body = b[len(line)+1:]
	var name string
	var v, n int
	var crc uint32
	if _, err := fmt.Sscanf(string(line), header[:len(header)-1], &name, &v, &crc, &n); err != nil || name != magic {
		return nil, fmt.Errorf("it does not begin as twg's files do: it was not written by twg, or is damaged")
	}
	if v != version {
		return nil, fmt.Errorf("its version is %d and this twg reads %d: use the twg that wrote it, or a newer one", v, version)
	}
	if got := crc32.Checksum(body, castagnoli); n != len(body) || got != crc {
		return nil, fmt.Errorf("it is cut short or damaged: %d bytes with checksum %08x, expected %d with %08x", len(body), got, n, crc)
	}
	return body, nil
}
