package sink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

var (
	streamX = sdk.Stream{Topic: "x"}
	streamY = sdk.Stream{Topic: "y"}
)

// frameBatch has rows of X at the positions xs and then of Y at ys.
func frameBatch(t *testing.T, xs, ys []int64, spans ...sdk.Span) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	for k, positions := range [][]int64{xs, ys} {
		s := b.Stream([]sdk.Stream{streamX, streamY}[k])
		for _, p := range positions {
			b.Append(s, &frame.Record{Position: p})
		}
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*v.NumRecords()), Spans: spans}
}

func TestSplitRefusesWhatNoHostSends(t *testing.T) {
	x, y := sdk.Span{Stream: streamX, From: 0, Next: 10}, sdk.Span{Stream: streamY, From: 0, Next: 10}
	for name, c := range map[string]struct {
		b    *sdk.Batch
		edit func(*sdk.Batch)
		want string
	}{
		"good":                 {frameBatch(t, []int64{0, 9}, []int64{5}, x, y), nil, ""},
		"no rows":              {frameBatch(t, nil, nil, x), nil, ""},
		"outside of its span":  {frameBatch(t, []int64{10}, nil, x), nil, "position 10 of x/0 is outside of its span [0,10)"},
		"falls":                {frameBatch(t, []int64{3, 2}, nil, x), nil, "position 2 of x/0"},
		"twice":                {frameBatch(t, []int64{3, 3}, nil, x), nil, "position 3 of x/0"},
		"no span":              {frameBatch(t, []int64{3}, []int64{1}, x), nil, "position 1 of y/0 has no span"},
		"two spans":            {frameBatch(t, nil, nil, x, x), nil, "two spans of x/0"},
		"a span that is none":  {frameBatch(t, nil, nil, sdk.Span{Stream: streamX, From: 2, Next: 1}), nil, "is not a range"},
		"ids are missing":      {frameBatch(t, []int64{1}, nil, x), func(b *sdk.Batch) { b.IDs = nil }, "1 rows came with 0 bytes"},
		"ranges fall":          {frameBatch(t, []int64{1, 2}, nil, x), func(b *sdk.Batch) { b.Rows = []sdk.RowRange{{From: 1, To: 2}, {From: 0, To: 1}} }, "row range [0,1)"},
		"range past the end":   {frameBatch(t, []int64{1, 2}, nil, x), func(b *sdk.Batch) { b.Rows = []sdk.RowRange{{From: 1, To: 3}} }, "row range [1,3)"},
		"left out, of no span": {frameBatch(t, []int64{1}, []int64{1}, x), func(b *sdk.Batch) { b.Rows = []sdk.RowRange{{From: 0, To: 1}} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(c.b)
			}
			_, err := split(c.b)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) || err != nil && sdk.KindOf(err) != sdk.KindFatal {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Batches of one transaction that overlap give each row once.
func TestBuildTakesEachPositionOnce(t *testing.T) {
	l := &lane{states: map[pgstore.Claim]*pgstore.State{}}
	var jobs []*job
	for _, c := range [][]int64{{0, 1, 2, 3}, {2, 3, 4, 5}, {0, 1}} {
		b := frameBatch(t, c, nil, sdk.Span{Stream: streamX, From: c[0], Next: c[len(c)-1] + 1})
		parts, err := split(b)
		if err != nil {
			t.Fatal(err)
		}
		l.states[parts[0].claim()] = &pgstore.State{Stream: streamX}
		jobs = append(jobs, &job{batch: b, parts: parts})
	}
	tx, lost := l.build(jobs)
	if len(lost) > 0 || tx.rows.Len() != 6 {
		t.Fatalf("%d rows, lost %v", tx.rows.Len(), lost)
	}
	for i := range 6 {
		if seg, k := tx.rows.At(i); seg.Batch.Frame.Position(k) != int64(i) {
			t.Errorf("row %d is position %d", i, seg.Batch.Frame.Position(k))
		}
	}
}
