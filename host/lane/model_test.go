package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// target is a dumb sink: a set of positions that are on stable storage, and
// for each session a set that it has and loses with the session.
type target struct {
	sdk.Sink
	mu      sync.Mutex
	durable map[int64]bool
	ses     *targetSession
	poison  int64 // the position that it refuses for good
	lazy    bool  // it does not answer Flush
	wrong   []string
}

type targetSession struct {
	t     *target
	ses   sdk.Session
	soft  map[int64]uint64 // by position, the batch
	wrote uint64
	asked uint64
	said  uint64
	dead  bool // its target was restarted: it answers nothing more
}

var errRestarted = errors.New("the target was restarted")

func (t *target) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ses = &targetSession{t: t, ses: ses, soft: map[int64]uint64{}}
	return t.ses, nil
}

func (s *targetSession) Write(_ context.Context, b *sdk.Batch) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.dead {
		return errRestarted
	}
	r := sdk.AllOutcome(s.ses.ID, b, sdk.Written, "")
	for i, sp := range b.Spans {
		for pos := sp.From; pos < sp.Next; pos++ {
			if pos != s.t.poison {
				s.soft[pos] = b.Seq
				continue
			}
			r.Outcomes[i].Kind = sdk.Rejected
			r.Outcomes[i].Rejected = []sdk.RejectedRow{{Position: pos, Reason: "poison"}}
		}
	}
	s.wrote = b.Seq
	s.ses.Report(r)
	if s.asked >= s.wrote && !s.t.lazy {
		s.sync(s.wrote)
	}
	return nil
}

func (s *targetSession) Flush(_ context.Context, seq uint64) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.dead {
		return errRestarted
	}
	s.asked = max(s.asked, seq)
	if s.wrote >= seq && !s.t.lazy {
		s.sync(s.wrote)
	}
	return nil
}

// sync makes durable what the session has written up to seq. t.mu is held.
func (s *targetSession) sync(seq uint64) {
	for pos, in := range s.soft {
		if in <= seq {
			s.t.durable[pos] = true
			delete(s.soft, pos)
		}
	}
	s.said = max(s.said, seq)
	s.ses.Flushed(s.said)
}

func (s *targetSession) Close(context.Context) error { return nil }

// awake answers a Flush that was asked for meanwhile. t.mu is held.
func (t *target) awake() {
	t.lazy = false
	if s := t.ses; s != nil && s.wrote > 0 && s.asked >= s.wrote {
		s.sync(s.wrote)
	}
}

// crash loses what was not flushed.
func (t *target) crash() {
	t.mu.Lock()
	ses := t.ses
	t.ses = nil
	if ses != nil {
		clear(ses.soft)
		ses.dead = true // at once: a Flush that comes now must not be answered
	}
	t.mu.Unlock()
	if ses != nil {
		ses.ses.Fail(errRestarted)
	}
}

// laneStore judges each record as it comes.
type laneStore struct {
	sdk.RecoveryStore
	t     *target
	held  coverage.Set
	aside coverage.Set
	floor int64
}

func (s *laneStore) Record(_ context.Context, _ string, recs []sdk.CoverageRecord) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for _, r := range recs {
		for _, i := range r.Held {
			for pos := i.From; pos < i.Next; pos++ {
				if !s.t.durable[pos] {
					s.t.wrong = append(s.t.wrong, fmt.Sprintf("%d is covered and not on stable storage", pos))
				}
			}
			s.held.AddHeld(i)
		}
		for _, i := range r.SetAside {
			s.aside.AddHeld(i)
		}
		s.floor = max(s.floor, r.LiveFloor)
	}
	if s.t.ses != nil {
		for pos := range s.t.ses.soft {
			if pos < s.floor {
				s.t.wrong = append(s.t.wrong, fmt.Sprintf("the live floor is %d, and a Flush may still make %d durable", s.floor, pos))
			}
		}
	}
	return nil
}

var modelStream = sdk.Stream{Cluster: "c", Topic: "t"}

type laneStep struct {
	what string
	n    int64
}

// A lane of a sink whose receipts promise nothing: coverage is only what was
// flushed, the live floor stays below what a Flush may still make durable, and
// in the end every position is covered, set aside, or a hole below the floor,
// which recovery fills.
func TestUnflushedIsNeverCoverage(t *testing.T) {
	kinds := []string{"offer", "offer", "offer", "wait", "crash", "lazy", "busy", "flush", "flush", "flush"}
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) laneStep {
			return laneStep{rapid.SampledFrom(kinds).Draw(rt, "what"), rapid.Int64Range(1, 12).Draw(rt, "n")}
		}), 1, 40).Draw(rt, "steps")
		poison := rapid.Int64Range(-1, 60).Draw(rt, "poison")
		var err error
		synctest.Test(t, func(t *testing.T) { err = playLane(t, steps, poison) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func playLane(t *testing.T, steps []laneStep, poison int64) error {
	sink := &target{durable: map[int64]bool{}, poison: poison}
	store := &laneStore{t: sink}
	l := New(Config{Name: "copy", Sink: sink, DurableFlush: true, Store: store, Buffer: 4000, Attempts: 3, MaxAckDelay: time.Second,
		Limits: sdk.DefaultLimits, Logger: slog.New(slog.DiscardHandler)})
	l.Begin(modelStream, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	next := int64(0)
	for _, s := range steps {
		next = playStep(t, l, sink, s, next)
	}
	sink.set(sink.awake)
	time.Sleep(time.Minute) // the session is there again, and flushes
	err := l.Drain(ctx)
	cancel()
	<-done
	return errors.Join(err, store.judge(next))
}

func (t *target) set(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func playStep(t *testing.T, l *Lane, sink *target, s laneStep, next int64) int64 {
	switch s.what {
	case "offer":
		l.Offer(positionsBatch(t, next, s.n), []sdk.RowRange{{From: 0, To: int(s.n)}})
		l.Advance(modelStream, next+s.n)
		return next + s.n
	case "wait":
		time.Sleep(time.Duration(s.n) * 150 * time.Millisecond)
	case "crash":
		sink.crash()
	case "lazy":
		sink.set(func() { sink.lazy = true })
	case "busy":
		sink.set(sink.awake)
	case "flush": // by itself, and not because it was asked
		sink.set(func() {
			if ses := sink.ses; ses != nil && ses.wrote > uint64(s.n)%3 {
				ses.sync(ses.wrote - uint64(s.n)%3)
			}
		})
	}
	return next
}

// judge: nothing is between the lane's and recovery's, and nothing was said
// too early.
func (s *laneStore) judge(end int64) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for _, w := range s.t.wrong {
		return errors.New(w)
	}
	if s.floor != end {
		return fmt.Errorf("the live floor is %d, and everything below %d was answered or shed: what is missing would not be rebuilt", s.floor, end)
	}
	for pos := range end {
		covered := len(s.held.HeldWithin(coverage.Interval{From: pos, Next: pos + 1})) > 0
		aside := len(s.aside.HeldWithin(coverage.Interval{From: pos, Next: pos + 1})) > 0
		if covered && (aside || pos == s.t.poison) {
			return fmt.Errorf("%d is covered, and was refused", pos)
		}
	}
	return nil
}

// positionsBatch has a record for each of n positions.
func positionsBatch(t *testing.T, from, n int64) *sdk.Batch {
	var b frame.Builder
	k := b.Stream(modelStream)
	for i := range n {
		b.Append(k, &frame.Record{Position: from + i, Value: []byte("v"), TimestampMS: -1})
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*n), Spans: []sdk.Span{{Stream: modelStream, From: from, Next: from + n, Run: 1}}}
}
