package footer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

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
