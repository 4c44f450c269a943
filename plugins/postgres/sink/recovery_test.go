//go:build services

package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

const lake = "lake"

func within(from, next int64) coverage.Interval { return coverage.Interval{From: from, Next: next} }

// replayed is what a replay gave.
type replayed struct {
	recs  []frame.Record
	ids   []byte
	spans []string // of each batch
	read  string   // of all
}

func (r *rig) replay(s *Sink, stream sdk.Stream, from, next int64) replayed {
	r.t.Helper()
	var out replayed
	read, err := s.Replay(r.t.Context(), sdk.Window{Stream: stream, From: from, Next: next}, func(b *sdk.Batch) error {
		c := b.Frame.Clone()
		for i := range c.NumRecords() {
			var rec frame.Record
			c.Record(i, &rec)
			out.recs = append(out.recs, rec)
		}
		out.ids = append(out.ids, b.IDs...)
		if len(b.Spans) != 1 || b.Spans[0].Stream != stream {
			return fmt.Errorf("spans %+v", b.Spans)
		}
		out.spans = append(out.spans, text(b.Spans[0].From)+"-"+text(b.Spans[0].Next))
		return nil
	})
	r.fatal(err)
	for _, s := range read {
		out.read += fmt.Sprintf("[%d,%d)", s.From, s.Next)
	}
	return out
}

// odd are records that a careless reader gets wrong.
func odd() []frame.Record {
	return []frame.Record{
		{Position: 0}, {Position: 1, Key: []byte{}, Value: []byte{}, TimestampMS: -1},
		{Position: 5, TimestampMS: 1 << 50, Key: []byte{0, 255}, Value: []byte("\x00\xff\\"), Headers: []frame.Header{{Name: "a", Value: []byte{0, 255}}, {Name: "a"}, {Name: "\xff\x00", Value: []byte{}}, {Name: ""}}},
	}
}

func TestReplayGivesBackWhatWasWritten(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	es := r.acquire(s, "one", streamA, streamB)
	ses := r.open(s)
	first := batchOf(t, piece{streamA, es[0], 0, 8, odd()}, piece{streamB, es[1], 0, 8, odd()})
	more := span(t, es[0], 20, 30)
	ses.deliver(first, more, batchOf(t, piece{streamA, es[0], 30, 35, []frame.Record{}}))
	got := r.replay(s, streamA, 0, 100)
	if got.read != "[0,8)[20,35)" || fmt.Sprint(got.spans) != "[0-8 20-35]" {
		t.Errorf("read %s in %v", got.read, got.spans)
	}
	want := append(odd(), plain(20, 30)...)
	if fmt.Sprintf("%#v", got.recs) != fmt.Sprintf("%#v", want) {
		t.Errorf("records\n%#v, want\n%#v", got.recs, want)
	}
	if ids := append(bytes.Clone(first.IDs[:3*16]), more.IDs...); !bytes.Equal(got.ids, ids) {
		t.Errorf("ids %x, want %x", got.ids, ids)
	}
	if got := r.replay(s, streamA, 1, 25); got.read != "[1,8)[20,25)" || len(got.recs) != 7 {
		t.Errorf("of a part: %s, %d records", got.read, len(got.recs))
	}
	if got := r.replay(s, streamA, 8, 20); got.read != "" || got.recs != nil {
		t.Errorf("of a hole: %+v", got)
	}
	if got := r.replay(s, sdk.Stream{Topic: "unknown"}, 0, 20); got.read != "" {
		t.Errorf("of a stream that is not known: %+v", got)
	}
	stop := errors.New("stop")
	if _, err := s.Replay(t.Context(), sdk.Window{Stream: streamA, Next: 8}, func(*sdk.Batch) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want the consumer's error", err)
	}
}

func TestLaneIsAUnion(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	other := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	record := func(s *Sink, c sdk.CoverageRecord) {
		t.Helper()
		c.Stream = streamA
		r.fatal(s.Record(t.Context(), lake, []sdk.CoverageRecord{c}))
	}
	record(s, sdk.CoverageRecord{Held: []coverage.Interval{within(0, 10), within(20, 30)}, SetAside: []coverage.Interval{within(10, 12), within(14, 16)}, LiveFloor: 30})
	record(other, sdk.CoverageRecord{Epoch: e, Held: []coverage.Interval{within(8, 15)}, SetAside: []coverage.Interval{within(0, 3), within(16, 18)}, LiveFloor: 20})
	record(other, sdk.CoverageRecord{Void: []coverage.Void{{Interval: within(25, 40), Reason: coverage.Retention}}})
	c := r.ofLake(s)
	if got := fmt.Sprint(c.Set.Held(), c.Set.Voids(), c.SetAside); got != "[{0 15} {20 30}] [{{30 40} retention}] [{15 18}]" {
		t.Error(got)
	}
	floors, err := s.Floors(t.Context(), lake, []sdk.Stream{streamB, streamA})
	r.fatal(err)
	if floors[0].Live != 0 || floors[1].Live != 30 || floors[0].Stream != streamB {
		t.Errorf("floors %+v", floors)
	}
	if r.held(s, streamA) != held() {
		t.Errorf("raw holds %s", r.held(s, streamA))
	}
	if n := r.number("select count(*) from _twg.coverage"); n != 4 {
		t.Errorf("%d rows of coverage", n)
	}
	r.acquire(s, "two", streamA)
	err = s.Record(t.Context(), lake, []sdk.CoverageRecord{{Stream: streamA, Epoch: e, Held: []coverage.Interval{within(90, 91)}}})
	if sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("a stale epoch: %v", err)
	}
}

func (r *rig) ofLake(s *Sink) sdk.StreamCoverage {
	r.t.Helper()
	got, err := s.Coverage(r.t.Context(), lake, []sdk.Stream{streamA})
	r.fatal(err)
	return got[0]
}

func window(from, next int64) sdk.RecoveryWindow {
	return sdk.RecoveryWindow{Window: sdk.Window{Stream: streamA, From: from, Next: next}}
}

func (r *rig) plan(s *Sink, ws ...sdk.RecoveryWindow) string {
	r.t.Helper()
	got, err := s.PlanWindows(r.t.Context(), lake, ws)
	r.fatal(err)
	return show(got)
}

func (r *rig) windows(s *Sink) string {
	r.t.Helper()
	got, err := s.Windows(r.t.Context(), lake)
	r.fatal(err)
	return show(got)
}

func show(ws []sdk.RecoveryWindow) (out string) {
	for _, w := range ws {
		out += fmt.Sprintf("%d:[%d,%d)%s ", w.ID, w.From, w.Next, w.State)
	}
	return out
}

func (r *rig) claim(s *Sink, holder string) *sdk.RecoveryWindow {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	w, err := s.ClaimWindow(ctx, sdk.WindowClaim{Lane: lake, Holder: holder, TTL: time.Minute})
	r.fatal(err)
	return w
}

func TestWindowsFromPlanToCompletion(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	if got := r.plan(s, window(0, 10), window(5, 15), window(10, 20)); got != "1:[0,10)open 2:[10,20)open " {
		t.Error(got)
	}
	if got := r.plan(s, window(19, 30), window(30, 40)); got != "3:[30,40)open " {
		t.Error(got)
	}
	one, two := r.claim(s, "one"), r.claim(r.sink(), "two")
	if one.ID != 1 || two.ID != 2 || one.Fence != 1 || one.LeaseVersion != 1 || one.Holder != "one" || one.Lease < 50*time.Second || one.State != sdk.WindowClaimed {
		t.Errorf("%+v, %+v", one, two)
	}
	r.exec("update _twg.windows set lease_until = now() where id = 1") // it expires
	again := r.claim(s, "three")
	if again.ID != 1 || again.Fence != 2 || again.LeaseVersion != 2 {
		t.Errorf("%+v", again)
	}
	if _, err := s.RenewWindow(t.Context(), 1, one.Fence, time.Minute); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("an old holder renews: %v", err)
	}
	if v, err := s.RenewWindow(t.Context(), 1, again.Fence, time.Minute); err != nil || v != 3 {
		t.Errorf("version %d, %v", v, err)
	}
	done := sdk.WindowCompletion{ID: 1, Fence: one.Fence, Done: []coverage.Interval{within(0, 10)}}
	if err := s.CompleteWindow(t.Context(), done); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("an old holder completes: %v", err)
	}
	done.Fence = again.Fence
	r.fatal(s.CompleteWindow(t.Context(), done))
	if err := s.CompleteWindow(t.Context(), done); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("completes twice: %v", err)
	}
	r.fatal(s.CompleteWindow(t.Context(), sdk.WindowCompletion{ID: 2, Fence: two.Fence, Done: []coverage.Interval{within(10, 12), within(14, 15), within(19, 20)}, Unrecoverable: []coverage.Interval{within(10, 13), within(16, 17)}}))
	if got := r.windows(s); got != "5:[12,13)unrecoverable 2:[13,16)open 6:[16,17)unrecoverable 4:[17,19)open 3:[30,40)open " {
		t.Error(got)
	}
}
