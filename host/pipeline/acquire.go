package pipeline

import (
	"context"
	"errors"
	"fmt"

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
	index := map[sdk.Stream]*stream{}
	for _, st := range s.sts {
		if _, ok := s.epochs[st]; !ok {
			streams, index[st.key] = append(streams, st.key), st
		}
	}
	if len(streams) == 0 {
		return nil
	}
	got, err := s.p.store.Acquire(ctx, s.p.cfg.Owner, streams)
	if err != nil {
		return fmt.Errorf("acquire epochs: %w", err)
	}
	for _, a := range got {
		if st := index[a.Stream]; st != nil && !a.Epoch.IsZero() {
			s.epochs[st] = a.Epoch
			s.notePrevious(st, a.Previous)
			delete(index, a.Stream)
		}
	}
	for k := range index {
		return sdk.Errorf(sdk.KindRetryable, "acquire epochs", "the store gave none for %s", k)
	}
	return nil
}

func (s *starter) readCoverage(ctx context.Context) error {
	streams := make([]sdk.Stream, len(s.as))
	index := map[sdk.Stream]int{}
	for i, a := range s.as {
		streams[i], index[a.Stream] = a.Stream, i
	}
	got, err := s.p.store.Coverage(ctx, sdk.LaneRaw, streams)
	if err != nil {
		return fmt.Errorf("read coverage: %w", err)
	}
	for i := range s.covs {
		s.covs[i] = &coverage.Set{}
	}
	for _, c := range got {
		if i, ok := index[c.Stream]; ok && c.Set != nil {
			s.covs[i] = c.Set
			hole := c.Set.FirstHole()
			st := s.sts[i]
			s.p.box.post(func() { s.holes[st] = hole })
		}
	}
	return nil
}

func (s *starter) notePrevious(st *stream, owner string) {
	if owner != "" && owner != s.p.cfg.Owner {
		s.p.box.post(func() { st.owners = append(st.owners, owner) })
	}
}
