package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// starter brings streams from Assigned to Start, off the loop: epochs are
// acquired, coverage is read, the start is decided, what it skips is recorded,
// and only then may the source begin. A failure begins again from the coverage;
// epochs that were acquired are kept unless they turn out to be fenced.
type starter struct {
	p   *Pipeline
	src *source
	sts []*stream
	as  []sdk.Assignment
	own []int64 // what this host has committed of each
	// proving: before acquiring, the source must show that it still owns the
	// streams (after a fence); proofs are the commits that do.
	proving bool
	proofs  []ackgate.Committable
	gaps    []*sdk.Gap
	keys    []sdk.Stream // the names of the last starts
	cutAs   []sdk.Stream
	fences  []time.Time

	names   []offsetstore.Name
	epochs  map[sdk.Stream]sdk.Epoch // what was acquired, by the store's name
	covs    []*coverage.Set
	holes   map[*stream]int64 // where the coverage was found to end
	cursors map[sdk.Stream]sdk.Cursor
	plan    []offsetstore.Decision
}

// start starts streams of one assignment together.
func (p *Pipeline) start(src *source, sts []*stream, prove bool) {
	s := &starter{p: p, src: src, sts: sts, proving: prove, epochs: map[sdk.Stream]sdk.Epoch{}, holes: map[*stream]int64{}}
	for _, st := range sts {
		st.starter = s
	}
	p.goRun(func() { s.run(src.life, prove) })
}

func (p *Pipeline) newRun() uint64 {
	p.lastRun++
	return p.lastRun
}

func (s *starter) run(ctx context.Context, delayed bool) {
	select {
	case <-s.src.opened:
	case <-ctx.Done():
		return
	}
	for fails := 0; ctx.Err() == nil; fails++ {
		if (fails > 0 || delayed) && !pause(ctx, backoff(fails+1)) {
			return
		}
		if !s.refresh(ctx) {
			return
		}
		err := s.try(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errNobodyWaits) {
			return
		}
		switch sdk.KindOf(err) {
		case sdk.KindFatal:
			s.p.box.post(func() { s.p.halt(err) })
			return
		case sdk.KindFenced: // the source no longer has them all
			s.p.box.post(func() { s.split(err) })
			return
		}
		s.p.log.Warn("start failed; trying again", "stream", s.sts[0].key.String(), "streams", len(s.sts), "error", err)
	}
}

// refresh leaves out the streams that were dropped or assigned anew since, and
// reports whether any is left.
func (s *starter) refresh(ctx context.Context) bool {
	reply := make(chan struct{})
	s.p.box.post(func() {
		s.sts = slices.DeleteFunc(slices.Clone(s.sts), func(st *stream) bool { return !s.owns(st) })
		s.as, s.own, s.gaps, s.proofs, s.keys, s.cutAs = nil, nil, nil, nil, nil, nil
		for _, st := range s.sts {
			s.as, s.own, s.gaps = append(s.as, st.assignment), append(s.own, st.ownCommit()), append(s.gaps, st.gap)
			s.keys, s.cutAs = append(s.keys, st.key), append(s.cutAs, st.cutAs)
			if c, ok := s.proof(st); ok {
				s.proofs = append(s.proofs, c)
			}
		}
		close(reply)
	})
	select {
	case <-reply:
		return len(s.sts) > 0
	case <-ctx.Done():
		return false
	}
}

// proof is, on the loop, what may be committed to show that the source still
// owns st: what was committed before or, before the first run, where the sink's
// coverage was found to end.
func (s *starter) proof(st *stream) (ackgate.Committable, bool) {
	switch hole := s.holes[st]; {
	case !s.proving:
		return ackgate.Committable{}, false
	case st.hasProof:
		return st.proof.ForRun(s.p.newRun()), true
	case hole == 0 || s.p.storeManaged():
		return ackgate.Committable{}, false
	default:
		run := s.p.newRun()
		c, err := s.p.gate.Start(run, st.key, hole, st.committed(), s.p.granularity(st.key))
		s.p.gate.Forget(run)
		return c, err == nil
	}
}

// owns reports, on the loop, whether it is still s that starts st.
func (s *starter) owns(st *stream) bool {
	return s.p.live(st) && st.starter == s && s.p.stopping == nil
}

// split, on the loop, finds out which streams the source no longer has: each
// is tried alone, and one that fails alone is given up until it is assigned
// again.
func (s *starter) split(err error) {
	for _, st := range s.sts {
		switch {
		case !s.owns(st):
		case len(s.sts) == 1:
			s.p.giveUp(st, err)
		default:
			s.p.start(s.src, []*stream{st}, s.proving)
		}
	}
}

// giveUp drops a stream that the source says it has no longer. It is assigned
// again if the source gets it back.
func (p *Pipeline) giveUp(st *stream, err error) {
	p.log.Info("the source no longer has the stream", "stream", st.key.String(), "error", err)
	p.drop(st)
}

// notOurs gives up the stream of a run that the source refused to start.
func (p *Pipeline) notOurs(run uint64, err error) {
	if st := p.byRun[run]; st != nil {
		p.giveUp(st, err)
	}
}

func (s *starter) try(ctx context.Context) error {
	if err := s.proveOwnership(ctx); err != nil {
		return err
	}
	// One start at a time, and only of what is still to be started: a late one
	// would fence the stream's next run in this very process, or replace it.
	select {
	case s.p.starting <- struct{}{}:
		defer func() { <-s.p.starting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !s.refresh(ctx) {
		return errNobodyWaits
	}
	if err := s.findNames(ctx); err != nil {
		return err
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	if err := s.decide(ctx); err != nil {
		return err
	}
	if err := s.record(ctx); err != nil {
		return err
	}
	if err := s.raiseFloors(ctx); err != nil {
		return err
	}
	return s.begin(ctx)
}

func (s *starter) proveOwnership(ctx context.Context) error {
	if len(s.proofs) == 0 {
		return nil
	}
	for _, err := range s.p.commit(ctx, s.src.reader, s.proofs) {
		if err != nil {
			return fmt.Errorf("prove that the source still owns its streams: %w", err)
		}
	}
	proofs := s.proofs
	s.p.box.post(func() {
		for _, c := range proofs {
			s.p.noteBase(c)
		}
	})
	return nil
}

// decide chooses the positions; symbolic ones are asked for in one question.
func (s *starter) decide(ctx context.Context) error {
	s.plan = make([]offsetstore.Decision, len(s.as))
	var queries []sdk.Query
	var asked []int
	for i := range s.as {
		if s.p.comesOnce() && s.covs[i] != nil {
			s.plan[i] = offsetstore.AfterAll(s.names[i].Stream, s.covs[i])
			continue
		}
		s.plan[i] = s.decideOne(i)
		if s.plan[i].Resolve != nil {
			queries, asked = append(queries, *s.plan[i].Resolve), append(asked, i)
		}
	}
	if len(queries) == 0 {
		return nil
	}
	got, err := s.src.reader.Resolve(ctx, queries)
	if err != nil {
		return fmt.Errorf("resolve start positions: %w", err)
	}
	for _, i := range asked {
		at := sdk.NoPosition
		for _, r := range got {
			if r.Stream == s.as[i].Stream {
				at = r.Position
			}
		}
		if at < 0 {
			return sdk.Errorf(sdk.KindRetryable, "resolve start positions", "the source gave none for %s", s.as[i].Stream)
		}
		s.plan[i] = s.plan[i].Resolved(at)
	}
	return nil
}

func (s *starter) decideOne(i int) offsetstore.Decision {
	if s.cutAs[i] != (sdk.Stream{}) {
		return offsetstore.AtCut(s.as[i], *s.gaps[i], s.covs[i])
	}
	return offsetstore.Decide(s.as[i], s.names[i].Stream, s.own[i], s.covs[i])
}

// record makes what the start skips durable under the epoch, before Start:
// otherwise a crash could choose again, and what lies between is lost.
func (s *starter) record(ctx context.Context) error {
	var recs []sdk.CoverageRecord
	add := func(name sdk.Stream, voids ...coverage.Void) {
		if len(voids) > 0 {
			recs = append(recs, sdk.CoverageRecord{Stream: name, Epoch: s.epochs[name], Void: voids})
		}
	}
	for i, n := range s.names {
		add(n.Stream, s.voids(i)...)
		for _, name := range n.Alias {
			add(name, offsetstore.AliasVoid())
		}
	}
	if len(recs) == 0 || s.p.store == nil {
		return nil
	}
	if err := s.p.store.Record(ctx, sdk.LaneRaw, recs); err != nil {
		if sdk.KindOf(err) == sdk.KindFenced {
			return s.fencedAtStart(err)
		}
		return fmt.Errorf("record what the start skips: %w", err)
	}
	return nil
}

// fencedAtStart: somebody acquired between our acquiring and recording.
func (s *starter) fencedAtStart(err error) error {
	if s.p.storeManaged() {
		return sdk.Errorf(sdk.KindFatal, "record what the start skips", "%w", s.p.secondReader(s.names[0].Stream, err.Error()))
	}
	s.proving = true
	clear(s.epochs)
	if s.fences = recentFences(s.fences); len(s.fences) >= maxFences {
		return sdk.Errorf(sdk.KindFatal, "record what the start skips", "fenced %d times within a minute: two hosts believe that they own %s; stop one of them: %v", len(s.fences), s.names[0].Stream, err)
	}
	return sdk.Errorf(sdk.KindRetryable, "record what the start skips", "%v", err)
}

// voids of stream i; a gap that the policy lets pass moves the start past it.
func (s *starter) voids(i int) []coverage.Void {
	voids := s.plan[i].Lost
	if !s.plan[i].Void.Empty() {
		voids = append(voids, s.plan[i].Void)
	}
	g := s.gaps[i]
	if g == nil || g.Available <= s.plan[i].Position {
		return voids
	}
	if s.covs[i] == nil {
		s.plan[i].Position, s.plan[i].CommitFirst = g.Available, true
		return nil
	}
	voids = append(voids, offsetstore.GapVoids(s.covs[i], s.plan[i].Position, g.Available)...)
	after := s.covs[i].Clone()
	for _, v := range voids {
		after.AddVoid(v)
	}
	s.plan[i].Position = after.FirstHole()
	return voids
}

func (p *Pipeline) granularity(s sdk.Stream) sdk.Granularity {
	if g, ok := p.cfg.TopicGranularity[s.Topic]; ok {
		return g
	}
	return p.cfg.Granularity
}
