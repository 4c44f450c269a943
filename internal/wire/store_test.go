package wire

import (
	"context"
	"reflect"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// memoryStore is an offset store that remembers what it was told.
type memoryStore struct {
	sdk.Sink
	records []sdk.CoverageRecord
	lane    string
	spans   []sdk.Span
}

func (m *memoryStore) Acquire(_ context.Context, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	return []sdk.Acquired{{Stream: streams[0], Epoch: sdk.Epoch{Number: 5}, Previous: owner}}, nil
}

func (m *memoryStore) Coverage(_ context.Context, lane string, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	var set coverage.Set
	set.AddHeld(coverage.Interval{From: 0, Next: 9})
	m.lane = lane
	return []sdk.StreamCoverage{{Stream: streams[0], Set: &set}}, nil
}

func (m *memoryStore) Cursors(_ context.Context, streams []sdk.Stream) ([]sdk.Cursor, error) {
	return []sdk.Cursor{{Stream: streams[0], Position: 3, Token: []byte("t")}}, nil
}

func (m *memoryStore) Record(_ context.Context, _ string, records []sdk.CoverageRecord) error {
	if records[0].Epoch.IsZero() {
		return sdk.Errorf(sdk.KindFenced, "record coverage", "no epoch")
	}
	m.records = records
	return nil
}

func (m *memoryStore) Replay(ctx context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	for _, b := range replayBatches {
		if err := f(b); err != nil {
			return nil, err
		}
	}
	if w.From < 0 {
		return nil, sdk.Errorf(sdk.KindRejected, "replay", "nothing is that old")
	}
	return m.spans, nil
}

var replayBatches []*sdk.Batch

func TestOffsetStoreCrossesTheBoundary(t *testing.T) {
	m := &memoryStore{Sink: sinkThat(nil)}
	c := clientOf(t, m)
	if _, ok := c.Sink(sdk.Capabilities{}).(sdk.OffsetStore); ok {
		t.Error("a sink without the capability offers a store")
	}
	store := c.Sink(sdk.Capabilities{OffsetStore: true}).(sdk.OffsetStore)
	got, err := store.Acquire(t.Context(), "me", []sdk.Stream{people})
	if err != nil || !reflect.DeepEqual(got, []sdk.Acquired{{Stream: people, Epoch: sdk.Epoch{Number: 5}, Previous: "me"}}) {
		t.Errorf("acquired %v, %v", got, err)
	}
	cov, err := store.Coverage(t.Context(), sdk.LaneRaw, []sdk.Stream{orders})
	if err != nil || len(cov) != 1 || cov[0].Stream != orders || cov[0].Set.FirstHole() != 9 || m.lane != sdk.LaneRaw {
		t.Errorf("coverage %v, %v", cov, err)
	}
	cur, err := store.Cursors(t.Context(), []sdk.Stream{orders})
	if err != nil || !reflect.DeepEqual(cur, []sdk.Cursor{{Stream: orders, Position: 3, Token: []byte("t")}}) {
		t.Errorf("cursors %v, %v", cur, err)
	}
	rec := []sdk.CoverageRecord{{Stream: orders, Epoch: sdk.Epoch{Number: 1}, Void: []coverage.Void{{Interval: coverage.Interval{Next: 4}, Reason: coverage.BeforeStart}}}}
	if err := store.Record(t.Context(), sdk.LaneRaw, rec); err != nil || !reflect.DeepEqual(m.records, rec) {
		t.Errorf("recorded %v, %v", m.records, err)
	}
	if err := store.Record(t.Context(), sdk.LaneRaw, []sdk.CoverageRecord{{Stream: orders}}); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("a stale epoch: %v", err)
	}
}

func TestReplayCrossesTheBoundary(t *testing.T) {
	replayBatches = []*sdk.Batch{batchOf(t, orders, 0, 3, 100), batchOf(t, orders, 3, 2, 100<<10)}
	m := &memoryStore{Sink: sinkThat(nil), spans: []sdk.Span{{Stream: orders, From: 0, Next: 5}}}
	c := clientOf(t, m)
	r := c.Sink(sdk.Capabilities{Replayable: true}).(sdk.Replayer)
	rows := 0
	read, err := r.Replay(t.Context(), sdk.Window{Stream: orders, Next: 9}, func(b *sdk.Batch) error {
		rows += b.Frame.NumRecords()
		return nil
	})
	if err != nil || rows != 5 || !reflect.DeepEqual(read, m.spans) {
		t.Errorf("%d rows, read %v, %v", rows, read, err)
	}
	if _, err := r.Replay(t.Context(), sdk.Window{Stream: orders, From: -1}, func(*sdk.Batch) error { return nil }); sdk.KindOf(err) != sdk.KindRejected {
		t.Errorf("replay of what is not there: %v", err)
	}
	stop := sdk.Errorf(sdk.KindFatal, "", "enough")
	if _, err := r.Replay(t.Context(), sdk.Window{Stream: orders, Next: 9}, func(*sdk.Batch) error { return stop }); err != error(stop) {
		t.Errorf("the caller's error came back as %v", err)
	}
}
