package sink

import (
	"context"
	"errors"
	"time"

	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/lanes"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

var (
	_ sdk.RecoveryStore = (*Sink)(nil)
	_ sdk.Replayer      = (*Sink)(nil)
)

// lanesDir is the directory in which the lanes besides raw are kept.
const lanesDir = "_twg"

// withLog calls f with the log. Where old commits were removed meanwhile the
// log is opened again, and f is called again.
func withLog[T any](ctx context.Context, s *Sink, f func(*dirlog.Log) (T, error)) (T, error) {
	for again := false; ; again = true {
		l, _, err := s.open(ctx)
		if err != nil {
			var none T
			return none, err
		}
		out, err := f(l)
		if err == nil || again || !errors.Is(err, dirlog.ErrMoved) {
			return out, err
		}
	}
}

// secondary returns the store of the lanes besides raw.
func (s *Sink) secondary(ctx context.Context) (*lanes.Store, error) {
	if _, _, err := s.open(ctx); err != nil { // makes the directory
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes, nil
}

func (s *Sink) newLanes(path string) *lanes.Store {
	return lanes.New(func() (disk.Dir, error) {
		dir, err := s.dial(path, false)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return dir.Sub(lanesDir)
	})
}

// Acquire implements sdk.OffsetStore.
func (s *Sink) Acquire(ctx context.Context, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	return withLog(ctx, s, func(l *dirlog.Log) ([]sdk.Acquired, error) { return l.Acquire(ctx, owner, streams) })
}

// Coverage implements sdk.OffsetStore.
func (s *Sink) Coverage(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	if lane == sdk.LaneRaw {
		return withLog(ctx, s, func(l *dirlog.Log) ([]sdk.StreamCoverage, error) { return l.Coverage(ctx, streams) })
	}
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	return st.Coverage(ctx, lane, streams)
}

// Cursors implements sdk.OffsetStore.
func (s *Sink) Cursors(ctx context.Context, streams []sdk.Stream) ([]sdk.Cursor, error) {
	return withLog(ctx, s, func(l *dirlog.Log) ([]sdk.Cursor, error) { return l.Cursors(ctx, streams) })
}

// Record implements sdk.OffsetStore.
func (s *Sink) Record(ctx context.Context, lane string, records []sdk.CoverageRecord) error {
	if lane == sdk.LaneRaw {
		_, err := withLog(ctx, s, func(l *dirlog.Log) (struct{}, error) { return struct{}{}, l.Record(ctx, records) })
		return err
	}
	st, err := s.secondary(ctx)
	if err != nil {
		return err
	}
	if err := s.checkEpochs(ctx, records); err != nil {
		return err
	}
	return st.Record(ctx, lane, records)
}

// checkEpochs checks the epochs that are given: a secondary's coverage is true
// whoever reports it, and needs none.
func (s *Sink) checkEpochs(ctx context.Context, records []sdk.CoverageRecord) error {
	var claims []dirlog.Claim
	for _, r := range records {
		if !r.Epoch.IsZero() {
			claims = append(claims, dirlog.Claim{Stream: r.Stream, Epoch: r.Epoch})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	_, err := withLog(ctx, s, func(l *dirlog.Log) (struct{}, error) { return struct{}{}, l.Check(ctx, claims) })
	return err
}

// Streams implements sdk.RecoveryStore.
func (s *Sink) Streams(ctx context.Context) ([]sdk.Stream, error) {
	out, err := withLog(ctx, s, func(l *dirlog.Log) ([]sdk.Stream, error) { return l.Streams(ctx) })
	if err != nil {
		return nil, err
	}
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[sdk.Stream]bool{}
	for _, known := range out {
		seen[known] = true
	}
	more, err := st.Streams(ctx)
	for _, m := range more {
		if !seen[m] {
			out = append(out, m)
		}
	}
	return out, err
}

// Floors implements sdk.RecoveryStore.
func (s *Sink) Floors(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.Floors, error) {
	raw, err := withLog(ctx, s, func(l *dirlog.Log) ([]int64, error) { return l.RawFloors(ctx, streams) })
	if err != nil {
		return nil, err
	}
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	live, err := st.LiveFloors(ctx, lane, streams)
	if err != nil {
		return nil, err
	}
	out := make([]sdk.Floors, len(streams))
	for i, stream := range streams {
		out[i] = sdk.Floors{Stream: stream, Live: live[i], Raw: raw[i]}
	}
	return out, nil
}

// PlanWindows implements sdk.RecoveryStore.
func (s *Sink) PlanWindows(ctx context.Context, lane string, w []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	return st.PlanWindows(ctx, lane, w)
}

// Windows implements sdk.RecoveryStore.
func (s *Sink) Windows(ctx context.Context, lane string) ([]sdk.RecoveryWindow, error) {
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	return st.Windows(ctx, lane)
}

// ClaimWindow implements sdk.RecoveryStore. The first claim makes this process
// the directory's recovery host.
func (s *Sink) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	st, err := s.secondary(ctx)
	if err != nil {
		return nil, err
	}
	return st.ClaimWindow(ctx, c)
}

// RenewWindow implements sdk.RecoveryStore.
func (s *Sink) RenewWindow(ctx context.Context, id, fence uint64, _ time.Duration) (uint64, error) {
	st, err := s.secondary(ctx)
	if err != nil {
		return 0, err
	}
	return st.RenewWindow(ctx, id, fence)
}

// CompleteWindow implements sdk.RecoveryStore.
func (s *Sink) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	st, err := s.secondary(ctx)
	if err != nil {
		return err
	}
	raw := &coverage.Set{}
	stream, found, err := st.Stream(ctx, c.ID)
	if err != nil {
		return err
	}
	if found {
		cov, err := s.Coverage(ctx, sdk.LaneRaw, []sdk.Stream{stream})
		if err != nil {
			return err
		}
		raw = cov[0].Set
	}
	return st.CompleteWindow(ctx, c, raw)
}

// Prune implements sdk.RecoveryStore. Whole files are removed, and floors rise
// as far as these reach.
func (s *Sink) Prune(ctx context.Context, p []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	return withLog(ctx, s, func(l *dirlog.Log) ([]sdk.Pruned, error) { return l.Prune(ctx, p, dryRun) })
}
