package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// holed is a store whose lane has holes; it keeps nothing.
type holed struct {
	sdk.RecoveryStore
	streams []sdk.Stream
	raw     []sdk.StreamCoverage
	lane    []sdk.StreamCoverage
	floors  []sdk.Floors
	open    []sdk.RecoveryWindow
	planned int
}

func (h *holed) Streams(context.Context) ([]sdk.Stream, error) { return h.streams, nil }
func (h *holed) Floors(context.Context, string, []sdk.Stream) ([]sdk.Floors, error) {
	return h.floors, nil
}
func (h *holed) Windows(context.Context, string) ([]sdk.RecoveryWindow, error) { return h.open, nil }

func (h *holed) Coverage(_ context.Context, lane string, _ []sdk.Stream) ([]sdk.StreamCoverage, error) {
	if lane == sdk.LaneRaw {
		return h.raw, nil
	}
	return h.lane, nil
}

func (h *holed) PlanWindows(_ context.Context, _ string, w []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	h.planned = len(w)
	return w, nil
}

// newHoled has so many streams, with the same number of holes each, of 1,000
// positions. Every other one has a window already if claimed.
func newHoled(streams, holes int, claimed bool) *holed {
	const step = 200_000
	h := &holed{}
	for i := range streams {
		s := sdk.Stream{Cluster: "c", Topic: fmt.Sprintf("topic-%d", i/10), Partition: int32(i % 10)}
		raw, lane := &coverage.Set{}, &coverage.Set{}
		end := int64(holes+1) * step
		raw.AddHeld(coverage.Interval{Next: end})
		at := int64(0)
		for k := range int64(holes) {
			from := (k + 1) * step
			lane.AddHeld(coverage.Interval{From: at, Next: from})
			at = from + 1000
			if claimed && k%2 == 0 {
				h.open = append(h.open, sdk.RecoveryWindow{Window: sdk.Window{Stream: s, From: from, Next: at}})
			}
		}
		lane.AddHeld(coverage.Interval{From: at, Next: end})
		h.streams = append(h.streams, s)
		h.raw = append(h.raw, sdk.StreamCoverage{Stream: s, Set: raw})
		h.lane = append(h.lane, sdk.StreamCoverage{Stream: s, Set: lane})
		h.floors = append(h.floors, sdk.Floors{Stream: s, Live: end})
	}
	return h
}

// BenchmarkPlan looks for 10,000 holes and plans a window for each that has
// none, as a recovery host does every interval: all but the store's own time.
//
//	go test ./host/recovery -bench Plan -run -
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name           string
		streams, holes int
		claimed        bool
		want           int
	}{
		{"1000 streams", 1000, 10, false, 10_000},
		{"1000 streams, half planned", 1000, 10, true, 5_000},
		{"one stream", 1, 10_000, false, 10_000},
		{"one stream, half planned", 1, 10_000, true, 5_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := newHoled(c.streams, c.holes, c.claimed)
			w := New(Config{Lane: "copy", Store: store, Logger: slog.New(slog.DiscardHandler)})
			for b.Loop() {
				if err := w.plan(b.Context(), nil, Options{WindowRows: 100_000}); err != nil {
					b.Fatal(err)
				}
			}
			if got := w.Backlog(); store.planned != c.want || got.Positions != 10_000*1000 {
				b.Fatalf("%d windows were planned, want %d; %d positions", store.planned, c.want, got.Positions)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
		})
	}
}
