package recovery

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// recorded is a store that notes what is recorded.
type recorded struct {
	sdk.RecoveryStore
	got []sdk.CoverageRecord
}

func (r *recorded) Record(_ context.Context, _ string, recs []sdk.CoverageRecord) error {
	r.got = append(r.got, recs...)
	return nil
}

// A replayed batch may have a span and no frame: positions without a record,
// as an aborted transaction leaves them. They are covered once they were read.
func TestReplayedBatchWithoutRowsIsCovered(t *testing.T) {
	store := &recorded{}
	s := sdk.Stream{Cluster: "c", Topic: "t"}
	hole := coverage.Interval{From: 3, Next: 9}
	d := &delivery{
		r:   New(Config{Lane: "copy", Store: store, Budget: 1 << 20, Logger: slog.New(slog.DiscardHandler)}),
		ses: &session{open: map[uint64]*sent{}}, w: &sdk.RecoveryWindow{Window: sdk.Window{Stream: s, From: 3, Next: 9}},
		todo: []coverage.Interval{hole}, deadline: time.Now().Add(time.Minute),
	}
	span := sdk.Span{Stream: s, From: 3, Next: 9}
	if err := d.batch(t.Context(), &sdk.Batch{Spans: []sdk.Span{span}}); err != nil {
		t.Fatal(err)
	}
	d.noteRead([]sdk.Span{span})
	if err := d.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(store.got) != 1 || !slices.Equal(store.got[0].Held, []coverage.Interval{hole}) {
		t.Errorf("recorded %+v, want %v of %s", store.got, hole, s)
	}
}
