package plugins

import (
	"context"

	"github.com/twg-io/twg/sdk"
)

// supervisedStore is the offset store of whichever process runs now.
type supervisedStore struct{ s *Supervisor }

func (o supervisedStore) with(ctx context.Context, f func(sdk.OffsetStore) error) error {
	proc, err := o.s.live(ctx)
	if err != nil {
		return err
	}
	return proc.explain(f(proc.Sink(o.s.caps).(sdk.OffsetStore)))
}

func (o supervisedStore) Acquire(ctx context.Context, owner string, streams []sdk.Stream) (out []sdk.Acquired, err error) {
	err = o.with(ctx, func(st sdk.OffsetStore) (err error) { out, err = st.Acquire(ctx, owner, streams); return })
	return out, err
}

func (o supervisedStore) Coverage(ctx context.Context, lane string, streams []sdk.Stream) (out []sdk.StreamCoverage, err error) {
	err = o.with(ctx, func(st sdk.OffsetStore) (err error) { out, err = st.Coverage(ctx, lane, streams); return })
	return out, err
}

func (o supervisedStore) Cursors(ctx context.Context, streams []sdk.Stream) (out []sdk.Cursor, err error) {
	err = o.with(ctx, func(st sdk.OffsetStore) (err error) { out, err = st.Cursors(ctx, streams); return })
	return out, err
}

func (o supervisedStore) Record(ctx context.Context, lane string, records []sdk.CoverageRecord) error {
	return o.with(ctx, func(st sdk.OffsetStore) error { return st.Record(ctx, lane, records) })
}

// supervisedReplay reads back through whichever process runs now.
type supervisedReplay struct{ s *Supervisor }

func (r supervisedReplay) Replay(ctx context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	proc, err := r.s.live(ctx)
	if err != nil {
		return nil, err
	}
	spans, err := proc.Sink(r.s.caps).(sdk.Replayer).Replay(ctx, w, f)
	return spans, proc.explain(err)
}
