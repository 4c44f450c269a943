package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// errNobodyWaits: all streams were dropped or assigned anew meanwhile.
var errNobodyWaits = errors.New("the streams are started by somebody else, or not at all")

// acquire takes the streams' epochs before it reads their coverage: what an
// older owner still has under way cannot land any more.
func (s *starter) acquire(ctx context.Context) error {
	s.covs = make([]*coverage.Set, len(s.as))
	if s.p.store == nil {
		if s.p.storeManaged() {
			return sdk.Errorf(sdk.KindFatal, "start streams", "no server keeps the source's position, and the sink has no offset store; choose a sink that has one")
		}
		return nil
	}
	if s.p.cfg.SinkCaps.Fencing {
		if err := s.acquireEpochs(ctx); err != nil {
			return err
		}
	}
	return s.readCoverage(ctx)
}

// acquireEpochs acquires what was not acquired in an earlier attempt: another
// host that has acquired since must not be fenced without a proof.
func (s *starter) acquireEpochs(ctx context.Context) error {
	var streams []sdk.Stream
	owners := map[sdk.Stream]*stream{}
	want := func(name sdk.Stream, st *stream) {
		if _, ok := s.epochs[name]; !ok && owners[name] == nil {
			streams, owners[name] = append(streams, name), st
		}
	}
	for i, st := range s.sts {
		want(s.names[i].Stream, st)
		for _, name := range s.names[i].Alias {
			want(name, st)
		}
	}
	if len(streams) == 0 {
		return nil
	}
	if err := s.stillOurs(ctx, streams); err != nil {
		return err
	}
	for _, k := range streams {
		delete(s.p.acquired, k) // with an error it is not known which epoch is the newest
	}
	got, err := s.p.store.Acquire(ctx, s.p.cfg.Owner, streams)
	if err != nil {
		return fmt.Errorf("acquire epochs: %w", err)
	}
	for _, a := range got {
		if st := owners[a.Stream]; st != nil && !a.Epoch.IsZero() {
			s.epochs[a.Stream], s.p.acquired[a.Stream] = a.Epoch, a.Epoch
			s.notePrevious(st, a.Previous)
			delete(owners, a.Stream)
		}
	}
	for k := range owners {
		return sdk.Errorf(sdk.KindRetryable, "acquire epochs", "the store gave none for %s", k)
	}
	return nil
}

// stillOurs makes sure, where nothing shares out the streams, that nobody has
// acquired those that this host has had before. A source that was started
// again, perhaps after the host slept, must not take them back: of two hosts
// the one that was started later goes on.
func (s *starter) stillOurs(ctx context.Context, streams []sdk.Stream) error {
	if !s.p.storeManaged() {
		return nil
	}
	var nothing []sdk.CoverageRecord // under the epochs that this host had
	for _, k := range streams {
		if e, ok := s.p.acquired[k]; ok {
			nothing = append(nothing, sdk.CoverageRecord{Stream: k, Epoch: e})
		}
	}
	if len(nothing) == 0 {
		return nil
	}
	err := s.p.store.Record(ctx, sdk.LaneRaw, nothing)
	switch {
	case err == nil:
		return nil
	case sdk.KindOf(err) == sdk.KindFenced:
		return sdk.Errorf(sdk.KindFatal, "acquire epochs", "%w", s.p.secondReader(nothing[0].Stream, err.Error()))
	}
	return fmt.Errorf("look whether the streams are still this host's: %w", err)
}

// readCoverage reads what is held, and the cursors, of all streams.
func (s *starter) readCoverage(ctx context.Context) error {
	streams := make([]sdk.Stream, len(s.names))
	for i, n := range s.names {
		streams[i] = n.Stream
	}
	sets, err := s.p.lookUp(ctx, streams)
	if err != nil {
		return err
	}
	for i := range s.covs {
		if s.covs[i] = sets[streams[i]]; s.covs[i] == nil {
			s.covs[i] = &coverage.Set{}
		}
		st, name, hole := s.sts[i], streams[i], s.covs[i].FirstHole()
		s.p.box.post(func() {
			// What is kept under another name than the source's is no proof: the
			// source does not know that name before Start.
			if st.key == name {
				s.holes[st] = hole
			}
		})
	}
	for _, n := range s.names {
		streams = append(streams, offsetstore.Predecessors(n.Stream)...)
	}
	cursors, err := s.p.store.Cursors(ctx, streams)
	if err != nil {
		return fmt.Errorf("read cursors: %w", err)
	}
	s.cursors = map[sdk.Stream]sdk.Cursor{}
	for _, c := range cursors {
		s.cursors[c.Stream] = c
	}
	return nil
}

// lookUp reads raw's coverage of streams.
func (p *Pipeline) lookUp(ctx context.Context, streams []sdk.Stream) (map[sdk.Stream]*coverage.Set, error) {
	got, err := p.store.Coverage(ctx, sdk.LaneRaw, streams)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	sets := make(map[sdk.Stream]*coverage.Set, len(got))
	for _, c := range got {
		sets[c.Stream] = c.Set
	}
	return sets, nil
}

func (s *starter) notePrevious(st *stream, owner string) {
	if owner != "" && owner != s.p.cfg.Owner {
		s.p.box.post(func() { st.owners = append(st.owners, owner) })
	}
}
