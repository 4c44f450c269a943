package footer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/twg-io/twg/sdk"
)

// Keys of the metadata.
const (
	keyVersion   = "twg.log_version"
	keyCommit    = "twg.commit_id"
	keyKind      = "twg.kind"
	keyStreams   = "twg.streams"
	keySpans     = "twg.spans"
	keyVoids     = "twg.voids"
	keyEpochs    = "twg.epochs"
	keyCursors   = "twg.cursors"
	keyBodyBytes = "twg.body_bytes"
	keyBodyCRC   = "twg.body_crc32c"
	keyFooterCRC = "twg.footer_crc32c"
)

type streamJSON struct {
	Cluster     string `json:"cluster"`
	Topic       string `json:"topic"`
	Incarnation string `json:"incarnation"`
	Partition   int32  `json:"partition"`
}

type spanJSON struct {
	Stream int   `json:"stream"`
	From   int64 `json:"from"`
	Next   int64 `json:"next"`
}

type voidJSON struct {
	Stream int    `json:"stream"`
	From   int64  `json:"from"`
	Next   int64  `json:"next"`
	Reason string `json:"reason"`
}

type epochJSON struct {
	Stream int    `json:"stream"`
	Number uint64 `json:"number"`
	Token  string `json:"token"`
	Owner  string `json:"owner,omitempty"`
}

type cursorJSON struct {
	Stream   int    `json:"stream"`
	Position int64  `json:"position"`
	Token    []byte `json:"token"` // base64
}

// KeyValue is one entry of the metadata.
type KeyValue struct{ Key, Value string }

// CheckStream says whether the log can name a stream: its parts are STRING
// columns and JSON, which are UTF-8.
func CheckStream(s sdk.Stream) error {
	if utf8.ValidString(s.Cluster) && utf8.ValidString(s.Topic) && utf8.ValidString(s.Incarnation) {
		return nil
	}
	return fmt.Errorf("stream %q/%q (incarnation %q), partition %d: its name is not valid UTF-8, which Parquet string columns require",
		s.Cluster, s.Topic, s.Incarnation, s.Partition)
}

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

// Encode returns f as metadata, in the order in which it is to be written.
// The checksums are placeholders that Seal fills in.
func (f *Footer) Encode() []KeyValue {
	d := &dictionary{index: map[sdk.Stream]int{}, list: []streamJSON{}}
	spans := []spanJSON{}
	for _, s := range f.Spans {
		spans = append(spans, spanJSON{d.of(s.Stream), s.From, s.Next})
	}
	voids := []voidJSON{}
	for _, v := range f.Voids {
		voids = append(voids, voidJSON{d.of(v.Stream), v.From, v.Next, v.Reason.String()})
	}
	epochs := []epochJSON{}
	for _, e := range f.Epochs {
		epochs = append(epochs, epochJSON{d.of(e.Stream), e.Number, hex.EncodeToString(e.Token[:]), e.Owner})
	}
	cursors := []cursorJSON{}
	for _, c := range f.Cursors {
		cursors = append(cursors, cursorJSON{d.of(c.Stream), c.Position, c.Token})
	}
	return []KeyValue{
		{keyVersion, Version},
		{keyCommit, hex.EncodeToString(f.CommitID[:])},
		{keyKind, string(f.Kind)},
		{keyStreams, marshal(d.list)},
		{keySpans, marshal(spans)},
		{keyVoids, marshal(voids)},
		{keyEpochs, marshal(epochs)},
		{keyCursors, marshal(cursors)},
		{keyBodyBytes, zeros16},
		{keyBodyCRC, zeros8},
		{keyFooterCRC, zeros8},
	}
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs always marshal
	}
	return string(b)
}
