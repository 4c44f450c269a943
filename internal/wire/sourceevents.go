package wire

import (
	"context"
	"errors"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// sourceEvents is what the author's source tells the host.
type sourceEvents struct{ r *sourceRun }

func (e sourceEvents) Limits() sdk.Limits { return e.r.limits }

func (e sourceEvents) WaitCredit(ctx context.Context) (int64, error) {
	return e.r.credit.wait(ctx, e.r.ctx)
}

// Batch waits for credit too: a source that forgets to must not break the
// host's bound.
func (e sourceEvents) Batch(ctx context.Context, b *sdk.Batch) error {
	if err := e.r.credit.take(ctx, e.r.ctx, b.Bytes()); err != nil {
		b.Release()
		return err
	}
	return e.send(outgoingSource(toSourceBatch(b), b.Frame.Bytes(), b.Release))
}

// send returns why the stream ended rather than that it did.
func (e sourceEvents) send(m any) error {
	err := e.r.out.send(m)
	if cause := e.r.cause(); err != nil && cause != nil {
		return cause
	}
	return err
}

func (e sourceEvents) Assigned(_ context.Context, a []sdk.Assignment) error {
	return e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Assigned{Assigned: &twgpb.Assigned{Streams: each(a, toAssignment)}}})
}

func (e sourceEvents) Revoking(ctx context.Context, runs []uint64, deadline time.Time) error {
	if len(runs) == 0 {
		return nil
	}
	left := time.Until(deadline)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	revocation := e.r.revoke.begin(runs)
	defer e.r.revoke.end(revocation)
	if err := e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Revoking{Revoking: &twgpb.Revoking{Runs: runs, DeadlineMs: left.Milliseconds()}}}); err != nil {
		return err
	}
	select {
	case <-revocation.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.r.ctx.Done():
		return e.r.cause()
	}
}

func (e sourceEvents) Lost(runs []uint64) {
	e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Lost{Lost: &twgpb.Lost{Runs: runs}}})
	e.r.revoke.dropped(runs)
}

func (e sourceEvents) Gap(g sdk.Gap) {
	e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Gap{Gap: toGap(g)}})
}

func (e sourceEvents) Lag(l []sdk.Lag) {
	e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Lag{Lag: &twgpb.Lag{Streams: each(l, toLag)}}})
}

func (e sourceEvents) Topics(t []sdk.Topic) {
	e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Lag{Lag: &twgpb.Lag{Topics: &twgpb.TopicStates{Topics: each(t, toTopic)}}}})
}

func (e sourceEvents) Ended(runs []uint64) {
	e.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Ended{Ended: &twgpb.Ended{Runs: runs}}})
}

func (e sourceEvents) Fail(err error) {
	if err == nil {
		err = errors.New("the source failed and did not say why")
	}
	e.r.cancel(err)
}
