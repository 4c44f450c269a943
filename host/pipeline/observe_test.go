package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

// following runs a pipeline that follows its source while look looks at it.
func following(t *testing.T, change func(*Config, *fakeTopic, *fakeSink), look func(p *Pipeline, topic *fakeTopic, sink *fakeSink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 30), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.UntilCaughtUp = false
		change(&cfg, topic, sink)
		ctx, cancel := context.WithCancel(t.Context())
		done, p := make(chan error, 1), New(cfg)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(time.Second)
		look(p, topic, sink)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func total(h *Histogram) (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// near: the loop's ticks are apart by up to a second.
func near(got, want time.Duration) bool { return got > want-2*time.Second && got < want+2*time.Second }

// What the sink has not confirmed grows old, and is gone with its receipt.
func TestObserveUnacknowledged(t *testing.T) {
	following(t, func(c *Config, _ *fakeTopic, s *fakeSink) { s.hold, c.MaxAckDelay = true, 30*time.Second }, func(p *Pipeline, topic *fakeTopic, _ *fakeSink) {
		time.Sleep(19 * time.Second)
		s := p.Status()
		o := s.Observed
		if !near(time.Since(o.Oldest), 20*time.Second) || o.Batches == 0 || !o.Uncommitted.IsZero() || total(&o.Latency) != 0 {
			t.Errorf("after 20s: %+v", o)
		}
		for _, st := range s.Streams {
			if !near(st.LagAge, 20*time.Second) {
				t.Errorf("lag of %s is %s old", st.Stream, st.LagAge)
			}
		}
		batches := o.Batches
		time.Sleep(15 * time.Second)
		s = p.Status()
		o = s.Observed
		if !o.Oldest.IsZero() || o.Batches != 0 || total(&o.Latency) != uint64(batches) || !near(time.Duration(o.Latency.Sum*1e9)/time.Duration(batches), 30*time.Second) {
			t.Errorf("after 35s: %+v", o)
		}
		if total(&o.BatchRecords) != uint64(batches) || o.BatchRecords.Sum != 60 || total(&o.BatchBytes) != uint64(batches) {
			t.Errorf("sizes: %+v", o)
		}
		for _, st := range s.Streams {
			if st.LagAge != 0 || st.Lag() != 0 || topic.committedAt(st.Stream) != 30 {
				t.Errorf("%+v", st)
			}
		}
	})
}

// What is durable and cannot be committed is dated, with the reason, and is
// gone once it can.
func TestObserveUncommitted(t *testing.T) {
	setErr := func(topic *fakeTopic, err error) {
		topic.mu.Lock()
		defer topic.mu.Unlock()
		topic.commitErr = err
	}
	following(t, func(_ *Config, topic *fakeTopic, _ *fakeSink) { topic.commitErr = errors.New("no coordinator") }, func(p *Pipeline, topic *fakeTopic, _ *fakeSink) {
		time.Sleep(59 * time.Second)
		o := p.Status().Observed
		if !near(time.Since(o.Uncommitted), time.Minute) || !near(time.Since(o.CommitSince), time.Minute) || !o.Oldest.IsZero() {
			t.Errorf("after a minute: %+v", o)
		}
		if o.CommitFailures < 3 || o.Commits != o.CommitFailures || o.CommitError == nil || !strings.Contains(o.CommitError.Error(), "no coordinator") {
			t.Errorf("commits: %+v", o)
		}
		setErr(topic, nil)
		time.Sleep(15 * time.Second)
		if o := p.Status().Observed; !o.Uncommitted.IsZero() || o.CommitError != nil || !o.CommitSince.IsZero() || o.Commits == o.CommitFailures {
			t.Errorf("after commits work: %+v", o)
		}
	})
}

// A source that has failed, and topics that it cannot read, are told and dated.
func TestObserveSource(t *testing.T) {
	following(t, func(*Config, *fakeTopic, *fakeSink) {}, func(p *Pipeline, _ *fakeTopic, _ *fakeSink) {
		src := p.cfg.Source.(*fakeSource)
		if st, o := p.Status().Flow, p.Status().Observed; !o.SourceOpen || o.SourceError != nil || o.Pending != "" || st.Granted <= 0 {
			t.Errorf("well: %+v", o)
		}
		src.reader().ev.Topics([]sdk.Topic{{Name: "a", Presence: sdk.TopicPending, Reason: "nobody answers"}, {Name: "b", Presence: sdk.TopicAbsent, Reason: "no such topic"}, {Name: "c", Presence: sdk.TopicThere}, {Name: "c", Presence: sdk.TopicPending, Reason: "a part is elsewhere"}})
		time.Sleep(5 * time.Second)
		src.reader().ev.Topics([]sdk.Topic{{Name: "a", Presence: sdk.TopicPending, Reason: "still nobody"}, {Name: "c", Presence: sdk.TopicThere}, {Name: "c", Presence: sdk.TopicPending, Reason: "a part is elsewhere"}})
		o := p.Status().Observed
		if o.Pending != `topic "a" cannot be read: still nobody` || !near(time.Since(o.PendingSince), 5*time.Second) || o.Absent != "" || !o.AbsentSince.IsZero() {
			t.Errorf("pending: %+v", o)
		}
		src.reader().ev.Fail(errors.New("it broke"))
		synctest.Wait()
		o = p.Status().Observed
		if o.SourceOpen || o.SourceError == nil || o.SourceSince.IsZero() || o.Pending != "" && o.Pending != `topic "a" cannot be read: still nobody` {
			t.Errorf("failed: %+v", o)
		}
		time.Sleep(time.Second)
		if o := p.Status().Observed; !o.SourceOpen || o.SourceError != nil || !o.SourceSince.IsZero() || o.Pending != "" {
			t.Errorf("open again: %+v", o)
		}
	})
}

// A source that opens before it has reached anybody, and then fails, is failing
// all the while.
func TestObserveSourceThatOpensInVain(t *testing.T) {
	following(t, func(c *Config, _ *fakeTopic, _ *fakeSink) { c.Source = vainSource{c.Source} }, func(p *Pipeline, _ *fakeTopic, _ *fakeSink) {
		if o := p.Status().Observed; !o.SourceOpen || o.SourceError != nil {
			t.Errorf("at first: %+v", o)
		}
		time.Sleep(30 * time.Second)
		for range 100 {
			time.Sleep(time.Second)
			o := p.Status().Observed
			if o.SourceError == nil || o.SourceError.Error() != "nobody answered" || time.Since(o.SourceSince) < time.Second {
				t.Fatalf("later: %+v", o)
			}
		}
	})
}

// vainSource fails 30 s after it was opened.
type vainSource struct{ sdk.Source }

func (s vainSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	r := &fakeReader{topic: newTopic(0, 0), ev: ev}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() {
		if pause(r.ctx, 29*time.Second) {
			ev.Fail(errors.New("nobody answered"))
		}
	})
	return r, nil
}

// A sink without a session is dated by its first failure, not the newest.
func TestObserveSink(t *testing.T) {
	following(t, func(*Config, *fakeTopic, *fakeSink) {}, func(p *Pipeline, _ *fakeTopic, s *fakeSink) {
		s.mu.Lock()
		w := s.writer
		s.mu.Unlock()
		w.ses.Fail(errors.New("connection reset"))
		synctest.Wait()
		if o := p.Status().Observed; o.SinkSince.IsZero() {
			t.Errorf("down: %+v", o)
		}
		time.Sleep(time.Second)
		if s := p.Status(); !s.Observed.SinkSince.IsZero() || !s.SinkOpen {
			t.Errorf("up again: %+v", s)
		}
	})
}

// Since when a stream's end lies above a position, with more words about it
// than are kept.
func TestEnds(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		ends     int // one a second; the end grows by ten each
		position int64
		want     time.Duration // after start; -1: it does not
		within   time.Duration
	}{
		"nothing said":        {0, 0, -1, 0},
		"at the end":          {5, 50, -1, 0},
		"above the end":       {5, 70, -1, 0},
		"behind all":          {5, 0, time.Second, 0},
		"in the middle":       {5, 25, 3 * time.Second, 0},
		"on a word":           {5, 30, 4 * time.Second, 0},
		"thinned, in the end": {10 * maxEnds, 10*10*maxEnds - 5, 10 * maxEnds * time.Second, 0},
		"thinned, far behind": {10 * maxEnds, 1000, 101 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var e ends
			for i := range c.ends {
				e.add(start.Add(time.Duration(i+1)*time.Second), int64(10*(i+1)))
				e.add(start.Add(time.Hour), int64(10*(i+1))) // said again
			}
			if len(e.seen) > maxEnds {
				t.Errorf("%d are kept", len(e.seen))
			}
			got := e.passed(c.position)
			if c.want < 0 {
				if !got.IsZero() {
					t.Errorf("since %s", got)
				}
				return
			}
			if d := got.Sub(start) - c.want; d < -c.within || d > c.within {
				t.Errorf("since %s, want %s", got.Sub(start), c.want)
			}
		})
	}
}

func TestHistogram(t *testing.T) {
	h := Histogram{Bounds: []float64{1, 10}}
	for _, v := range []float64{0, 1, 1.5, 10, 11, 1000} {
		h.observe(v)
	}
	if got := fmt.Sprint(h.Counts[:3], h.Sum); got != "[2 2 2] 1023.5" {
		t.Error(got)
	}
	for _, b := range [][]float64{latencyBounds, byteBounds, recordBounds} {
		if len(b) > maxBounds {
			t.Errorf("%d bounds, more than %d", len(b), maxBounds)
		}
	}
}

func BenchmarkHistogram(b *testing.B) {
	h := Histogram{Bounds: latencyBounds}
	b.ReportAllocs()
	for b.Loop() {
		h.observe(.3)
	}
}

// A lag is as old as the end is known to lie above what is committed, or as the
// oldest record that is here, if that is older.
func TestLagAge(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	for name, c := range map[string]struct {
		end, committed, waitingMS int64
		want                      time.Duration
	}{
		"end not known":            {-1, 5, 0, -1},
		"caught up":                {10, 10, ago(time.Hour), 0},
		"past the end":             {10, 11, 0, 0},
		"behind, nothing here":     {10, 5, 0, 4 * time.Second},
		"nothing committed":        {10, sdk.NoPosition, 0, 4 * time.Second},
		"behind, an old record":    {10, 5, ago(time.Hour), time.Hour},
		"behind, a new record":     {10, 5, ago(time.Second), 4 * time.Second},
		"a record from the future": {10, 5, ago(-time.Hour), 4 * time.Second},
		"a record without a time":  {10, 5, -1, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			st := stream{end: c.end}
			st.ends.add(now.Add(-4*time.Second), max(c.end, 0))
			if got := st.lagAge(now, c.committed, c.waitingMS); got != c.want && (got >= 0 || c.want >= 0) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// While records keep coming there is always something to be committed: what
// waits is dated by the newest commit, not by the first record.
func TestUncommittedIsDatedAnew(t *testing.T) {
	p := New(config(newTopic(1, 1), &fakeSink{store: newStore()}))
	old := time.Now().Add(-time.Hour)
	p.commits.since = old
	p.committed(nil, nil)
	if !p.commits.since.IsZero() {
		t.Errorf("after a commit: %s", p.commits.since)
	}
}

// A secondary's live lane is measured as the gating sink is.
func TestSecondaryIsMeasured(t *testing.T) {
	src := &loadSource{parts: 1, records: 5000, perPart: 100, size: bytesEach(100)}
	copied := &loadSink{fakeSink: &fakeSink{store: newStore()}, delay: 30 * time.Millisecond}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget, cfg.Role = 8*mib, RoleIngest
		cfg.Sink = recoverable{r.sink, notAsked{}}
		cfg.Secondaries = []Secondary{{Name: "copy", Sink: copied, Caps: sdk.Capabilities{Durable: true}}}
	}, func(r *rig) {
		r.caughtUp(5 * time.Minute)
		r.pass(time.Minute)
		s := r.p.Status()
		m, gate := s.Secondaries[0].Measured, s.Observed.Measured
		if s.Secondaries[0].Live.Delivered != 5000 || m.BatchRecords.Sum != 5000 || m.BatchBytes.Sum != gate.BatchBytes.Sum {
			t.Errorf("%d delivered, in batches of %v bytes and %v records", s.Secondaries[0].Live.Delivered, m.BatchBytes, m.BatchRecords)
		}
		// One batch after the other takes 30 ms: the bounds at 25 and 50 ms.
		if n := total(&m.Latency); n != 50 || total(&m.BatchBytes) != n || total(&m.BatchRecords) != n || m.Latency.Counts[5] == 0 || m.Latency.Sum < 1.4 {
			t.Errorf("%d answers: %v", n, m.Latency)
		}
		if gate.Latency.Sum > .1 {
			t.Errorf("the gate's latency is the secondary's: %v", gate.Latency)
		}
	})
}

// A sink that opens sessions, and in which no write works, is failing since the
// first one, whether it refuses writes or ends its sessions. One that has
// nothing left to write is not.
func TestObserveWritesThatFail(t *testing.T) {
	for name, fail := range map[string]func(w *fakeWriter, b *sdk.Batch){
		"refused": func(w *fakeWriter, b *sdk.Batch) {
			w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Retryable, "the disk is full"))
		},
		"the session ends": func(w *fakeWriter, _ *sdk.Batch) { w.ses.Fail(errors.New("the disk is full")) },
	} {
		t.Run(name, func(t *testing.T) {
			var works atomic.Bool
			var log bytes.Buffer // written under the handler's lock, read when all is over
			following(t, func(c *Config, _ *fakeTopic, s *fakeSink) {
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				s.script = func(w *fakeWriter, b *sdk.Batch) bool {
					if !works.Load() {
						fail(w, b)
					}
					return !works.Load()
				}
			}, func(p *Pipeline, _ *fakeTopic, _ *fakeSink) {
				time.Sleep(time.Minute)
				f := p.Status().Flow
				if !near(time.Since(f.WriteFailing), time.Minute) || f.WriteError == nil || !strings.Contains(f.WriteError.Error(), "the disk is full") || f.WriteFailures < 5 {
					t.Errorf("after a minute: %d failures, since %s: %v", f.WriteFailures, f.WriteFailing, f.WriteError)
				}
				works.Store(true)
				time.Sleep(time.Minute)
				if f := p.Status().Flow; !f.WriteFailing.IsZero() || f.WriteError != nil || f.WriteFailures != 0 {
					t.Errorf("once writes work: %+v", f)
				}
			})
			if said := log.String(); !strings.Contains(said, "the disk is full") || strings.Count(said, "takes writes again") != 1 || strings.Count(said, "the sink refuses what it was sent") > 1 {
				t.Errorf("the log:\n%s", said)
			}
		})
	}
}

// Streams that go elsewhere take with them what the sink refused.
func TestRefusedAndRevoked(t *testing.T) {
	following(t, func(_ *Config, _ *fakeTopic, s *fakeSink) {
		s.script = func(w *fakeWriter, b *sdk.Batch) bool {
			w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Retryable, "the disk is full"))
			return true
		}
	}, func(p *Pipeline, _ *fakeTopic, _ *fakeSink) {
		time.Sleep(10 * time.Second)
		if f := p.Status().Flow; f.State != flow.Degraded || f.WriteFailures == 0 {
			t.Errorf("refused: %+v", f)
		}
		r := p.cfg.Source.(*fakeSource).reader()
		r.mu.Lock()
		runs := slices.Collect(maps.Values(r.byStream))
		r.mu.Unlock()
		r.ev.Lost(runs)
		time.Sleep(2 * time.Minute)
		if f := p.Status().Flow; f.State != flow.Normal || f.WriteFailures != 0 || f.WriteError != nil {
			t.Errorf("with nothing left to write: %+v", f)
		}
	})
}
