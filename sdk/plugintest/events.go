package plugintest

import (
	"context"
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// events is the host that a source talks to. It keeps what it is told and
// holds every batch to the rules.
type events struct {
	*board
	reader   sdk.Reader
	lastRun  uint64
	runs     map[uint64]*run
	assigned []sdk.Assignment
	rows     map[sdk.Stream][]frame.Record
	batches  int
	revoking []uint64
	gaps     []sdk.Gap
	failed   error
	broken   error // the first rule that was broken
	over     bool
	tooLate  int
	// carries is SourceConfig's.
	carries func(frame.Record) frame.Record
	// onRevoking ends revoked runs; nil: Revoking does.
	onRevoking func(context.Context, []uint64)
}

type run struct {
	stream sdk.Stream
	from   int64
	next   int64
	over   bool
}

func newEvents() *events {
	return &events{board: newBoard(), runs: map[uint64]*run{}, rows: map[sdk.Stream][]frame.Record{}}
}

func (e *events) attach(r sdk.Reader) { e.set(func() { e.reader = r }) }

func (e *events) grant(bytes int64) { e.reader.(sdk.CreditGranter).Grant(bytes) }

// Limits makes frames small, so that there are many.
func (e *events) Limits() sdk.Limits {
	return sdk.Limits{FrameRecords: 100, FrameBytes: 64 << 10, MaxRecordBytes: 64 << 20}
}

// WaitCredit is never called: the source is in another process.
func (e *events) WaitCredit(context.Context) (int64, error) { return 0, nil }

func (e *events) breach(format string, args ...any) {
	if e.broken == nil {
		e.broken = fmt.Errorf(format, args...)
	}
}

// Batch implements sdk.Events.
func (e *events) Batch(_ context.Context, b *sdk.Batch) error {
	e.set(func() {
		e.batches++
		if e.over {
			e.tooLate++
		}
		spans := map[sdk.Stream]sdk.Span{}
		for _, s := range b.Spans {
			e.span(s, spans)
		}
		e.take(b.Frame, spans)
	})
	b.Release()
	return nil
}

func (e *events) span(s sdk.Span, spans map[sdk.Stream]sdk.Span) {
	if _, twice := spans[s.Stream]; twice {
		e.breach("a batch has two spans of %s", s.Stream)
	}
	spans[s.Stream] = s
	r := e.runs[s.Run]
	switch {
	case r == nil || r.stream != s.Stream:
		e.breach("[%d,%d) of %s came under run %d, which was not started for it", s.From, s.Next, s.Stream, s.Run)
		return
	case s.From != r.next:
		e.breach("[%d,%d) of %s came where the run is at %d", s.From, s.Next, s.Stream, r.next)
	case s.Next < s.From || s.Next == s.From && r.from != s.From:
		e.breach("[%d,%d) of %s is no span", s.From, s.Next, s.Stream)
	case r.over:
		e.breach("[%d,%d) of %s came under run %d, which had been dropped", s.From, s.Next, s.Stream, s.Run)
	}
	r.next = s.Next
}

func (e *events) take(v frame.View, spans map[sdk.Stream]sdk.Span) {
	last := int64(-1)
	grouped := map[sdk.Stream]bool{}
	for i := range v.NumRecords() {
		stream := v.Stream(v.StreamIndex(i))
		if i == 0 || v.StreamIndex(i) != v.StreamIndex(i-1) {
			last = -1
			if grouped[stream] {
				e.breach("rows of %s are not together in their batch", stream)
			}
			grouped[stream] = true
		}
		s, ok := spans[stream]
		at := v.Position(i)
		if !ok || at < s.From || at >= s.Next || at <= last {
			e.breach("position %d of %s lies outside of the batch's span [%d,%d), or does not ascend", at, stream, s.From, s.Next)
		}
		last = at
		var rec frame.Record
		v.Record(i, &rec)
		e.rows[stream] = append(e.rows[stream], copyOf(rec))
	}
}

// copyOf outlives the frame.
func copyOf(r frame.Record) frame.Record {
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		return append([]byte{}, b...)
	}
	r.Key, r.Value = keep(r.Key), keep(r.Value)
	for i := range r.Headers {
		r.Headers[i].Value = keep(r.Headers[i].Value)
	}
	return r
}

// Assigned implements sdk.Events.
func (e *events) Assigned(_ context.Context, a []sdk.Assignment) error {
	e.set(func() { e.assigned = append(e.assigned, a...) })
	return nil
}

// Revoking implements sdk.Events.
func (e *events) Revoking(ctx context.Context, runs []uint64, _ time.Time) error {
	var on func(context.Context, []uint64)
	e.get(func() { on = e.onRevoking })
	if on != nil {
		on(ctx, runs)
	}
	err := e.drop(ctx, runs...)
	e.set(func() { e.revoking = append(e.revoking, runs...) })
	return err
}

// drop ends runs. Batches that were sent before it was answered still come
// through the host's own queue: drop waits until what follows it has come.
func (e *events) drop(ctx context.Context, runs ...uint64) error {
	err := e.reader.Drop(ctx, runs)
	e.settle()
	e.set(func() {
		for _, id := range runs {
			if r := e.runs[id]; r != nil {
				r.over = true
			}
		}
	})
	return err
}

// settle waits until no batch has come for a moment.
func (e *events) settle() {
	for {
		var n int
		e.get(func() { n = e.batches })
		if !e.within(quiet/5, func() bool { return e.batches > n }) {
			return
		}
	}
}

// Lost implements sdk.Events.
func (e *events) Lost(runs []uint64) {
	e.set(func() {
		for _, id := range runs {
			if r := e.runs[id]; r != nil {
				r.over = true
			}
		}
	})
}

// Gap implements sdk.Events.
func (e *events) Gap(g sdk.Gap) { e.set(func() { e.gaps = append(e.gaps, g) }) }

// Lag implements sdk.Events.
func (e *events) Lag(lags []sdk.Lag) {
	e.set(func() {
		for _, l := range lags {
			if l.End < 0 || l.Stream == (sdk.Stream{}) {
				e.breach("lag %+v names no stream or no position", l)
			}
		}
	})
}

// Topics implements sdk.Events.
func (e *events) Topics(topics []sdk.Topic) {
	e.set(func() {
		for _, t := range topics {
			if t.Name == "" || t.Presence != sdk.TopicThere && t.Reason == "" {
				e.breach("topic %+v has no name, or cannot be read and does not say why", t)
			}
		}
	})
}

// Ended implements sdk.Events.
func (e *events) Ended([]uint64) {}

// Fail implements sdk.Events.
func (e *events) Fail(err error) { e.set(func() { e.failed = err }) }
