package readback

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/plugins/parquet/sink"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

var streams = []sdk.Stream{
	{Cluster: "cluster-1", Topic: "orders", Incarnation: "a1", Partition: 0},
	{Topic: "größer 漢字 \x00", Partition: math.MaxInt32},
}

// corpus has, for each stream, records that readers tend to get wrong, and
// enough others for several row groups and files.
func corpus() map[sdk.Stream][]frame.Record {
	out := map[sdk.Stream][]frame.Record{}
	for _, s := range streams {
		rs := []frame.Record{
			{TimestampMS: -1},
			{TimestampMS: math.MinInt64, Key: []byte{}, Value: []byte{}},
			{TimestampMS: math.MaxInt64, Key: []byte{0}, Value: []byte{0xff, 0, 0xfe}},
			{TimestampMS: 1e15, Value: make([]byte, 3<<20)},
			{Headers: []frame.Header{{Name: "h"}, {Name: "h", Value: []byte{}}, {Name: "h", Value: []byte{0xff, 0}}}},
			{Headers: []frame.Header{{Name: "\xff\x00", Value: []byte("v")}, {Name: ""}}},
		}
		for i := range 3000 {
			r := frame.Record{TimestampMS: 1.7e12 + int64(i), Key: fmt.Appendf(nil, "k%d", i%7), Value: fmt.Appendf(nil, `{"n":%d}`, i)}
			for h := range i % 4 {
				r.Headers = append(r.Headers, frame.Header{Name: fmt.Sprint("h", h), Value: []byte(fmt.Sprint(i))})
			}
			rs = append(rs, r)
		}
		for i := range rs {
			rs[i].Position = int64(i) * 2 // odd ones are not delivered
		}
		out[s] = rs
	}
	return out
}

// deliver runs the sink on dir and waits until all is durable.
func deliver(t *testing.T, dir, compression string, records map[sdk.Stream][]frame.Record) {
	t.Helper()
	s := sink.New()
	text := fmt.Sprintf(`{"dir":%q,"compression":%q,"max_file_rows":1500,"row_group_rows":700}`, dir, compression)
	if _, diags := s.Configure(sdk.NewSettings([]byte(text))); diags.HasErrors() {
		t.Fatal(diags)
	}
	ctx := context.Background()
	epochs, err := s.Acquire(ctx, "readback", streams)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan sdk.OutcomeKind, 1000)
	w, err := s.Open(ctx, sdk.Session{ID: 1, Fail: func(err error) { t.Error(err) }, Report: func(r sdk.Receipt) {
		for _, o := range r.Outcomes {
			outcomes <- o.Kind
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, e := range epochs {
		rs := records[e.Stream]
		for from := 0; from < len(rs); from += 250 {
			sent++
			if err := w.Write(ctx, batch(t, uint64(sent), e, rs[from:min(from+250, len(rs))])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	close(outcomes)
	for o := range outcomes {
		if sent--; o != sdk.Durable {
			t.Errorf("a batch is %s", o)
		}
	}
	if sent != 0 {
		t.Errorf("%d batches were not answered", sent)
	}
}

func batch(t *testing.T, seq uint64, e sdk.Acquired, rs []frame.Record) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	k := b.Stream(e.Stream)
	for i := range rs {
		b.Append(k, &rs[i])
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := new(recordid.Hasher).Fill(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Seq: seq, Frame: v, IDs: ids, Spans: []sdk.Span{{
		Stream: e.Stream, From: rs[0].Position, Next: rs[len(rs)-1].Position + 2, Run: 1, Epoch: e.Epoch}}}
}

// row is a record as readback.py compares it: bytes in hex, null as null.
type row struct {
	ID          string   `json:"id"`
	Cluster     string   `json:"cluster"`
	Topic       string   `json:"topic"`
	Incarnation string   `json:"incarnation"`
	Partition   int32    `json:"partition"`
	Position    int64    `json:"position"`
	TimestampMS int64    `json:"timestamp_ms"`
	Key         *string  `json:"key"`
	Value       *string  `json:"value"`
	Headers     []header `json:"headers"`
}

type header struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

func expect(records map[sdk.Stream][]frame.Record) []row {
	var h recordid.Hasher
	var out []row
	for s, rs := range records {
		for _, r := range rs {
			id, err := h.ID(s, r.Position, r.Value)
			if err != nil {
				panic(err)
			}
			x := row{hex.EncodeToString(id[:]), s.Cluster, s.Topic, s.Incarnation, s.Partition, r.Position, r.TimestampMS, text(r.Key), text(r.Value), []header{}}
			for _, h := range r.Headers {
				x.Headers = append(x.Headers, header{hex.EncodeToString([]byte(h.Name)), text(h.Value)})
			}
			out = append(out, x)
		}
	}
	return out
}

func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := hex.EncodeToString(b)
	return &s
}
