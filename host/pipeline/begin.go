package pipeline

import (
	"context"
	"fmt"

	"github.com/twg-io/twg/host/ackgate"
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
		d := s.plan[i]
		if d.Alarm != "" {
			s.p.alarm(d.Alarm)
		}
		if st.gap != nil {
			s.p.alarm(fmt.Sprintf("positions [%d,%d) of %s are gone at the source (%s); going on after them", st.gap.Wanted, st.gap.Available, st.key, st.gap.Reason))
			st.gap = nil
		}
		st.run, st.epoch = s.p.newRun(), s.epochs[st]
		c, err := s.p.gate.Start(st.run, st.key, d.Position, st.committed(), s.p.granularity(st.key))
		if err != nil {
			s.p.halt(err)
			return begun{}
		}
		s.p.byRun[st.run] = st
		st.proof, st.hasProof = c, true
		st.held = coverage.Set{}
		st.held.AddHeld(coverage.Interval{Next: d.Position})
		for _, l := range s.p.lanes {
			l.Begin(st.key, d.Position)
		}
		b.starts = append(b.starts, sdk.Start{Stream: st.key, Run: st.run, Epoch: st.epoch, Position: d.Position})
		if d.CommitFirst {
			b.first = append(b.first, c)
		}
	}
	return b
}

// unregister undoes register, on the loop: the next try uses new runs.
func (s *starter) unregister() {
	for _, st := range s.sts {
		if s.owns(st) {
			s.p.endRun(st)
			st.starter = s
		}
	}
}
