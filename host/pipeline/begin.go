package pipeline

import (
	"context"
	"fmt"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// begin registers the runs with the gate and tells the source to start.
func (s *starter) begin(ctx context.Context) error {
	reply := make(chan begun, 1)
	s.p.box.post(func() { reply <- s.register() })
	var b begun
	select {
	case b = <-reply:
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(b.starts) == 0 {
		return nil
	}
	faultpoint.Hit("start")
	err := s.commitFirst(ctx, b.first)
	if err == nil {
		err = s.startRuns(ctx, b.starts)
	}
	if err != nil {
		s.p.box.post(func() { s.unregister() })
		return fmt.Errorf("start streams: %w", err)
	}
	return nil
}

// startRuns tells the source. It starts all runs or none; if it no longer has
// all of the streams, those that it has are started one by one, under the
// epochs that they have: to acquire again would fence a new owner again.
func (s *starter) startRuns(ctx context.Context, starts []sdk.Start) error {
	err := s.src.reader.Start(ctx, starts)
	if sdk.KindOf(err) != sdk.KindFenced || len(starts) == 1 {
		return err
	}
	for _, st := range starts {
		err := s.src.reader.Start(ctx, []sdk.Start{st})
		if err != nil && sdk.KindOf(err) != sdk.KindFenced {
			return err
		}
		if err != nil {
			s.p.box.post(func() { s.p.notOurs(st.Run, err) })
		}
	}
	return nil
}

// begun is what the loop registered: what to start, and what to commit first.
type begun struct {
	starts []sdk.Start
	first  []ackgate.Committable
}

// commitFirst records start positions at the source's own server where the
// sink has no store for them.
func (s *starter) commitFirst(ctx context.Context, first []ackgate.Committable) error {
	if len(first) == 0 {
		return nil
	}
	for _, err := range s.p.commit(ctx, s.src.reader, first) {
		if err != nil {
			return fmt.Errorf("commit the start position: %w", err)
		}
	}
	s.p.box.post(func() { s.p.noteCommitted(first, nil) })
	return nil
}

// register runs on the loop.
func (s *starter) register() begun {
	var b begun
	for i, st := range s.sts {
		if !s.owns(st) {
			continue
		}
		c, err := s.registerOne(i, st)
		if err != nil {
			s.p.halt(err)
			return begun{}
		}
		for _, l := range s.p.lanes {
			l.Begin(st.key, s.plan[i].Position)
		}
		b.starts = append(b.starts, s.startOf(i, st))
		if s.plan[i].CommitFirst {
			b.first = append(b.first, c)
		}
	}
	return b
}

func (s *starter) registerOne(i int, st *stream) (ackgate.Committable, error) {
	d, name := s.plan[i], s.names[i].Stream
	s.raiseAlarms(i, st)
	st.run, st.epoch = s.p.newRun(), s.epochs[name]
	c, err := s.p.gate.Start(st.run, name, d.Position, st.committed(), s.p.granularity(name))
	if err != nil {
		return c, err
	}
	if st.cutAs == name { // what was committed is of the stream before
		st.hasBase = false
	}
	s.p.rekey(st, name)
	s.p.byRun[st.run] = st
	st.proof, st.hasProof = c, true
	st.load = s.p.flow.adm.Join()
	st.held = coverage.Set{}
	st.held.AddHeld(coverage.Interval{Next: d.Position})
	return c, nil
}

func (s *starter) raiseAlarms(i int, st *stream) {
	if a := s.plan[i].Alarm; a != "" {
		s.p.alarm(a)
	}
	switch g := st.gap; {
	case g == nil:
	case st.cutAs != (sdk.Stream{}):
		s.p.alarm(fmt.Sprintf("the log of %s was cut (%s), and was read up to %d; what it has from %d on is read as %s", st.key, g.Reason, g.Wanted, s.plan[i].Position, s.names[i].Stream))
	default:
		s.p.alarm(fmt.Sprintf("positions [%d,%d) of %s are gone at the source (%s); going on after them", g.Wanted, g.Available, st.key, g.Reason))
	}
	st.gap = nil
}

func (s *starter) startOf(i int, st *stream) sdk.Start {
	d := s.plan[i]
	out := sdk.Start{Stream: s.as[i].Stream, Run: st.run, Epoch: st.epoch, Position: d.Position}
	if st.key != out.Stream {
		out.KnownAs = st.key
	}
	out.Cursor = offsetstore.CursorOf(st.key, d.Position, s.covs[i], d.Void, s.cursors)
	return out
}

// unregister undoes register, on the loop: the next try uses new runs.
func (s *starter) unregister() {
	for i, st := range s.sts {
		if !s.owns(st) {
			continue
		}
		s.p.endRun(st)
		st.starter = s
		if s.cutAs[i] != (sdk.Stream{}) {
			st.gap, st.cutAs = s.gaps[i], s.cutAs[i]
		}
	}
}
