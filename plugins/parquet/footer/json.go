package footer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
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

// decode reads metadata that Encode wrote.
func decode(get func(key string) (string, bool)) (*Footer, error) {
	f := &Footer{}
	r := reader{get: get}
	if v := r.text(keyVersion); r.err == nil && v != Version {
		return nil, fmt.Errorf("log_version is %q and this twg reads %q: use the twg that wrote it, or a newer one", v, Version)
	}
	f.CommitID = r.hex16(keyCommit, r.text(keyCommit))
	f.Kind = Kind(r.text(keyKind))
	r.lists(f)
	if r.err != nil {
		return nil, r.err
	}
	switch f.Kind {
	case Data, Acquire, Record, Checkpoint:
		return f, nil
	}
	return nil, fmt.Errorf("%s: %q is not known", keyKind, f.Kind)
}

// reader remembers the first error.
type reader struct {
	get     func(string) (string, bool)
	streams []sdk.Stream
	err     error
}

func (r *reader) fail(key string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", key, err)
	}
}

func (r *reader) text(key string) string {
	v, ok := r.get(key)
	if !ok {
		r.fail(key, fmt.Errorf("missing"))
	}
	return v
}

func (r *reader) hex16(key, text string) (out [16]byte) {
	b, err := hex.DecodeString(text)
	if err == nil && len(b) != 16 {
		err = fmt.Errorf("%d bytes instead of 16", len(b))
	}
	if err != nil {
		r.fail(key, err)
		return out
	}
	return [16]byte(b)
}

func (r *reader) json(key string, into any) {
	if v := r.text(key); r.err == nil {
		if err := json.Unmarshal([]byte(v), into); err != nil {
			r.fail(key, err)
		}
	}
}

func (r *reader) stream(key string, k int) sdk.Stream {
	if k < 0 || k >= len(r.streams) {
		r.fail(key, fmt.Errorf("stream %d of %d", k, len(r.streams)))
		return sdk.Stream{}
	}
	return r.streams[k]
}

func (r *reader) interval(key string, from, next int64) coverage.Interval {
	if from < 0 || next <= from || next > sdk.MaxPosition {
		r.fail(key, fmt.Errorf("[%d,%d) is not a range", from, next))
	}
	return coverage.Interval{From: from, Next: next}
}

func (r *reader) lists(f *Footer) {
	var streams []streamJSON
	r.json(keyStreams, &streams)
	for _, s := range streams {
		r.streams = append(r.streams, sdk.Stream{Cluster: s.Cluster, Topic: s.Topic, Incarnation: s.Incarnation, Partition: s.Partition})
	}
	var spans []spanJSON
	r.json(keySpans, &spans)
	for _, s := range spans {
		f.Spans = append(f.Spans, Span{r.stream(keySpans, s.Stream), r.interval(keySpans, s.From, s.Next)})
	}
	var voids []voidJSON
	r.json(keyVoids, &voids)
	for _, v := range voids {
		f.Voids = append(f.Voids, Void{r.stream(keyVoids, v.Stream), coverage.Void{Interval: r.interval(keyVoids, v.From, v.Next), Reason: reason(v.Reason)}})
	}
	var epochs []epochJSON
	r.json(keyEpochs, &epochs)
	for _, e := range epochs {
		f.Epochs = append(f.Epochs, Epoch{r.stream(keyEpochs, e.Stream), sdk.Epoch{Number: e.Number, Token: r.hex16(keyEpochs, e.Token)}, e.Owner})
	}
	var cursors []cursorJSON
	r.json(keyCursors, &cursors)
	for _, c := range cursors {
		if c.Position < 0 || c.Position > sdk.MaxPosition {
			r.fail(keyCursors, fmt.Errorf("position %d", c.Position))
		}
		f.Cursors = append(f.Cursors, sdk.Cursor{Stream: r.stream(keyCursors, c.Stream), Position: c.Position, Token: c.Token})
	}
}

// reason reads a void's reason. One that is not known is a void all the same.
func reason(text string) coverage.Reason {
	for r := coverage.BeforeStart; r <= coverage.Pruned; r++ {
		if r.String() == text {
			return r
		}
	}
	return 0
}
