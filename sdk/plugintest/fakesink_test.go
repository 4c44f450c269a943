package plugintest

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// wrongs are the ways in which a fake is wrong on purpose.
type wrongs []string

func (w wrongs) is(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(w, n) })
}

type fakeSettings struct {
	Dir   string   `twg:"dir,required" validate:"min=1" doc:"where"`
	Wrong []string `twg:"wrong"`
	Token string   `twg:"token,sensitive"`
}

// fakeSink holds batches until Flush, and then makes one transaction of them.
// It does everything right but for what its settings say.
type fakeSink struct {
	fakeSettings
	mu      sync.Mutex // one transaction at a time
	aborted bool
}

func (s *fakeSink) wrong(names ...string) bool { return wrongs(s.Wrong).is(names...) }

func (s *fakeSink) Describe() sdk.Description {
	d := sdk.Description{Name: "fakesink", Version: "1", Kind: sdk.KindSink, Schema: sdk.SchemaOf(fakeSettings{})}
	if os.Getenv("LC_FAKE") == "name" {
		d.Name = "another"
	}
	return d
}

func (s *fakeSink) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := set.Decode(&s.fakeSettings)
	if s.wrong("accepts") {
		diags = nil
	}
	if s.wrong("touches") {
		(&fakeState{}).write(statePath(s.Dir))
	}
	if s.wrong("soft") {
		return sdk.Capabilities{DurableFlush: true, Durable: s.wrong("boasts"), Idempotent: true, Shapes: []sdk.Shape{sdk.ShapeRaw}}, diags
	}
	return sdk.Capabilities{Durable: true, Replayable: true, OffsetStore: true, Fencing: true, Idempotent: true, AppendOnly: s.wrong("both"),
		Shapes: []sdk.Shape{sdk.ShapeRaw}, HoldsUntilClose: !s.wrong("denies")}, diags
}

// transaction changes the state, all or nothing.
func (s *fakeSink) transaction(f func(*fakeState) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := readState(statePath(s.Dir))
	if err == nil {
		err = f(st)
	}
	if err == nil {
		err = st.write(statePath(s.Dir))
	}
	return err
}

func (s *fakeSink) Acquire(_ context.Context, owner string, streams []sdk.Stream) (out []sdk.Acquired, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, x := range streams {
			a := st.of(x).issue(owner)
			if s.wrong("samepoch") {
				a.Epoch = sdk.Epoch{Number: 1, Token: [16]byte{1}}
				st.of(x).Epoch = a.Epoch
			}
			out = append(out, a)
		}
		return nil
	})
}

func (s *fakeSink) Coverage(_ context.Context, lane string, streams []sdk.Stream) (out []sdk.StreamCoverage, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, x := range streams {
			if lane != sdk.LaneRaw {
				out = append(out, st.lane(lane, x).coverage())
				continue
			}
			c := st.of(x).seen()
			if s.wrong("overclaims") && c.End() > 0 {
				for _, i := range c.Held() {
					i.Next++
					c.AddHeld(i)
				}
			}
			out = append(out, sdk.StreamCoverage{Stream: x, Set: c})
		}
		return nil
	})
}

func (s *fakeSink) Cursors(_ context.Context, streams []sdk.Stream) (out []sdk.Cursor, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, x := range streams {
			if c, ok := st.of(x).cursor(s.wrong("newest")); ok {
				out = append(out, c)
			}
		}
		return nil
	})
}

var errFenced = sdk.Errorf(sdk.KindFenced, "record", "another has the stream")

func (s *fakeSink) Record(_ context.Context, lane string, records []sdk.CoverageRecord) error {
	return s.transaction(func(st *fakeState) error {
		for _, r := range records {
			if lane != sdk.LaneRaw {
				if err := s.recordLane(st, lane, r); err != nil {
					return err
				}
				continue
			}
			x := st.of(r.Stream)
			if r.Epoch != x.Epoch && !s.wrong("recordsany") {
				return errFenced
			}
			x.Held, x.Void = append(x.Held, r.Held...), append(x.Void, r.Void...)
		}
		return nil
	})
}

func (s *fakeSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if s.aborted && s.wrong("stuck") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.wrong("stops") {
		time.AfterFunc(50*time.Millisecond, func() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
	}
	interruptible(s.fakeSettings)
	return &fakeWriter{s: s, ses: ses}, nil
}

// interruptible ends the process at Ctrl-C.
func interruptible(s fakeSettings) {
	if !wrongs(s.Wrong).is("interruptible") {
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	go func() { <-c; os.Exit(1) }()
}

type fakeWriter struct {
	s   *fakeSink
	ses sdk.Session

	mu      sync.Mutex
	held    []*sdk.Batch
	flushTo uint64
	asked   []uint64
	wrote   uint64
}

func (w *fakeWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if w.s.wrong("small") && b.Bytes() > 1<<20 {
		return errors.New("too large")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.s.wrong("deaf") && len(w.held) >= 10 {
		<-ctx.Done() // and Flush waits for the lock
		return ctx.Err()
	}
	if w.s.wrong("early") {
		w.ses.Report(sdk.AllDurable(w.ses.ID, b))
		return nil
	}
	if w.s.wrong("soft") {
		return w.take(b)
	}
	w.held = append(w.held, b)
	if b.Seq == w.flushTo && !w.s.wrong("forgets") {
		return w.commit()
	}
	return nil
}

func (w *fakeWriter) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.s.wrong("forgets") && slices.Contains(w.asked, seq) || w.s.wrong("noflush", "drops") {
		return nil
	}
	w.asked = append(w.asked, seq)
	w.flushTo = max(w.flushTo, seq)
	if w.s.wrong("soft") && w.wrote < seq {
		return nil
	}
	return w.commit()
}

// take is Write of a sink whose receipts promise nothing: the batch is copied,
// since its memory dies with the receipt.
func (w *fakeWriter) take(b *sdk.Batch) error {
	c := &sdk.Batch{Seq: b.Seq, Rows: b.Rows, IDs: slices.Clone(b.IDs), Spans: b.Spans}
	if b.Frame.Len() > 0 {
		v, err := frame.Open(slices.Clone(b.Frame.Bytes()))
		if err != nil {
			return err
		}
		c.Frame = v
	}
	w.held, w.wrote = append(w.held, c), b.Seq
	w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Written, ""))
	if w.flushTo >= b.Seq {
		return w.commit()
	}
	return nil
}

func (w *fakeWriter) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil || w.s.wrong("drops") {
		w.s.aborted = true
		return nil
	}
	return w.commit()
}

// commit makes one transaction of what is held, and answers it.
func (w *fakeWriter) commit() error {
	held := w.held
	w.held = nil
	if len(held) == 0 {
		return nil
	}
	if w.s.wrong("flushesnot") {
		w.ses.Flushed(w.wrote)
		return nil
	}
	stale := map[sdk.Span]bool{}
	err := w.s.transaction(func(st *fakeState) error {
		for _, b := range held {
			for _, sp := range b.Spans {
				if sp.Epoch != st.of(sp.Stream).Epoch && !w.s.wrong("fencesnot") || sp.Epoch.IsZero() && w.s.wrong("needsepoch") {
					stale[sp] = true
				}
			}
			st.add(b, w.s.Wrong)
		}
		if len(stale) > 0 {
			return errFenced
		}
		return nil
	})
	if err != nil && len(stale) == 0 && !w.s.wrong("optimist") {
		return err
	}
	if w.s.wrong("soft") {
		if !w.s.wrong("mute") {
			w.ses.Flushed(w.wrote)
		}
		return nil
	}
	for _, b := range held {
		w.answer(b, stale)
	}
	return nil
}

func (w *fakeWriter) answer(b *sdk.Batch, stale map[sdk.Span]bool) {
	r := sdk.AllDurable(w.ses.ID, b)
	for i, sp := range b.Spans {
		switch {
		case stale[sp]:
			r.Outcomes[i].Kind = sdk.Fenced
		case len(stale) > 0:
			r.Outcomes[i].Kind = sdk.Retryable
		}
	}
	if w.s.wrong("halfspan") && w.ses.Granularity == sdk.GranularityRecord {
		r.Outcomes[0].Next--
	}
	if w.s.wrong("half") {
		r.Outcomes = r.Outcomes[:1]
	}
	if w.s.wrong("norows") && b.Frame.NumRecords() == 0 {
		return
	}
	w.ses.Report(r)
	if w.s.wrong("twice") {
		w.ses.Report(r)
	}
}
