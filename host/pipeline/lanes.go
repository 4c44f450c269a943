package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twg-io/twg/host/lane"
	"github.com/twg-io/twg/sdk"
)

// This file feeds the secondaries. Only what the gating sink holds enters a
// lane, and nothing here waits for one: INV9.

// newLanes makes a lane for each secondary that this host delivers to.
func (p *Pipeline) newLanes() {
	store, ok := p.store.(sdk.RecoveryStore)
	if !ok || p.cfg.Role == RoleRecovery {
		return
	}
	for _, s := range p.cfg.Secondaries {
		m := newMeter()
		p.meters = append(p.meters, m)
		p.lanes = append(p.lanes, lane.New(lane.Config{
			Sent: m.sent, Answered: m.answered,
			Name: s.Name, Pipeline: p.cfg.Name, Owner: p.cfg.Owner, Sink: s.Sink, DurableFlush: s.Caps.FlushesLater(), Store: store,
			Buffer: orDefault(s.Buffer, DefaultLaneBuffer), Attempts: orDefault(s.Attempts, DefaultLaneAttempts),
			MaxAckDelay: p.cfg.MaxAckDelay, Limits: p.cfg.Limits, Logger: p.log,
		}))
	}
}

// shared counts who still needs a frame.
type shared struct {
	refs atomic.Int32
	free func()
}

func (s *shared) release() {
	if s.refs.Add(-1) == 0 && s.free != nil {
		s.free()
	}
}

// share lets lanes keep a batch's frame beyond the gate.
func (it *item) share() {
	it.frame = &shared{free: it.batch.Free}
	it.frame.refs.Store(1)
	it.batch.Free = it.frame.release
}

// offer hands what a receipt made durable to the lanes. What is of a run that
// is over is left to recovery: the next owner's floor lies above it.
func (p *Pipeline) offer(it *item, outcomes []sdk.Outcome) {
	if len(p.lanes) == 0 {
		return
	}
	var spans []sdk.Span
	var rows []sdk.RowRange
	for k := range outcomes {
		o := &outcomes[k]
		if o.Kind != sdk.Durable || p.byRun[o.Run] == nil {
			continue
		}
		i := it.span(o.Stream, o.Run)
		s := it.batch.Spans[i]
		s.From, s.Next, s.Epoch = o.From, o.Next, sdk.Epoch{} // the epoch is raw's
		spans, rows = append(spans, s), append(rows, it.rowsWithin(i, o.From, o.Next))
	}
	for _, l := range p.lanes {
		if len(spans) > 0 {
			it.frame.refs.Add(1)
			l.Offer(&sdk.Batch{Frame: it.batch.Frame, IDs: it.batch.IDs, Spans: spans, Free: it.frame.release}, rows)
		}
		for _, s := range spans {
			if r, ok := p.gate.Run(s.Run); ok {
				l.Advance(s.Stream, r.Frontier)
			}
		}
	}
}

// raiseFloors sets the lanes' live floors to where streams start, under their
// epochs: what raw holds already is recovery's.
func (s *starter) raiseFloors(ctx context.Context) error {
	for _, l := range s.p.lanes {
		recs := make([]sdk.CoverageRecord, len(s.names))
		for i, n := range s.names {
			recs[i] = sdk.CoverageRecord{Stream: n.Stream, Epoch: s.epochs[n.Stream], LiveFloor: s.plan[i].Position}
		}
		if err := s.p.store.Record(ctx, l.Status().Name, recs); err != nil {
			if sdk.KindOf(err) == sdk.KindFenced {
				return s.fencedAtStart(err)
			}
			return fmt.Errorf("raise the live floor of lane %s: %w", l.Status().Name, err)
		}
	}
	return nil
}

// settleLanes records what the lanes know, within a time that a revoke has.
func (p *Pipeline) settleLanes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	p.eachLane(func(l *lane.Lane) {
		if err := l.Settle(ctx); err != nil {
			p.log.Debug("settle a lane", "error", err)
		}
	})
}

const settleTimeout = 2 * time.Second

// drainLanes lets the lanes finish what they hold until ctx ends.
func (p *Pipeline) drainLanes(ctx context.Context) {
	p.eachLane(func(l *lane.Lane) {
		if err := l.Drain(ctx); err != nil {
			p.log.Warn("the lane's last coverage was not recorded; recovery delivers it again", "error", err)
		}
	})
}

// unanswered is an error if a lane ended with rows in its sink's hands: nobody
// rebuilds those yet, so the pipeline has not caught up.
func (p *Pipeline) unanswered() error {
	var errs []error
	for i, l := range p.lanes { // the first of p.stat.Secondaries, if there are any
		s := l.Status()
		if i < len(p.stat.Secondaries) && p.stat.Secondaries[i].Name == s.Name {
			p.stat.Secondaries[i].Live.Unanswered = s.Unanswered
		}
		if s.Unanswered > 0 {
			errs = append(errs, fmt.Errorf("secondary sink %q was sent %d rows and did not answer within shutdown_timeout; see that it answers, and run this again", s.Name, s.Unanswered))
		}
	}
	return errors.Join(errs...)
}

func (p *Pipeline) eachLane(f func(*lane.Lane)) {
	var wg sync.WaitGroup
	for _, l := range p.lanes {
		wg.Go(func() { f(l) })
	}
	wg.Wait()
}
