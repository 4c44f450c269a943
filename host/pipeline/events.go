package pipeline

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// events is what a source sees of the pipeline (sdk.Events). Its methods run
// on the source's goroutines and post to the loop.
type events source

func (e *events) src() *source { return (*source)(e) }

// post hands f to the loop, which ignores it if the source is an old one.
func (e *events) post(f func()) {
	e.p.box.post(func() {
		if e.p.src == e.src() {
			f()
		}
	})
}

func (e *events) Limits() sdk.Limits { return e.p.cfg.Limits }

func (e *events) WaitCredit(ctx context.Context) (int64, error) {
	return e.credit.wait(ctx, e.life)
}

// Batch checks the batch and computes its ids here, so that the loop, which
// all streams share, need not.
func (e *events) Batch(_ context.Context, b *sdk.Batch) error {
	if e.life.Err() != nil {
		b.Release()
		return errSourceOver
	}
	e.credit.add(-b.Bytes())
	it, err := e.prepareItem(b)
	if err != nil {
		b.Release()
		e.src().fail(err)
		return err
	}
	e.p.box.post(func() { e.p.batch(e.src(), it) })
	return nil
}

func (e *events) prepareItem(b *sdk.Batch) (*item, error) {
	e.prepare.Lock()
	defer e.prepare.Unlock()
	return newItem(b, &e.ids, e.p.cfg.Limits.MaxRecordBytes)
}

func (e *events) Assigned(_ context.Context, as []sdk.Assignment) error {
	e.post(func() { e.p.assigned(e.src(), as) })
	return nil
}

// Revoking waits until the loop has dropped the runs.
func (e *events) Revoking(ctx context.Context, runs []uint64, deadline time.Time) error {
	done := make(chan struct{})
	e.post(func() { e.p.revoking(e.src(), runs, deadline, done) })
	timer := time.NewTimer(time.Until(deadline) + time.Second)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C: // the source is an old one: nobody will answer
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.life.Done():
		return nil
	}
}

func (e *events) Lost(runs []uint64) {
	e.post(func() {
		for _, r := range runs {
			if st := e.p.byRun[r]; st != nil {
				e.p.log.Warn("stream lost", "stream", st.key.String())
				e.p.drop(st)
			}
		}
	})
}

func (e *events) Gap(g sdk.Gap) { e.post(func() { e.p.gap(g) }) }

func (e *events) Lag(ls []sdk.Lag) {
	e.post(func() {
		e.p.flow.heard = time.Now()
		for _, l := range ls {
			if st := e.p.byRun[l.Run]; st != nil {
				st.seeEnd(l.End)
			}
		}
	})
}

func (e *events) Topics(list []sdk.Topic) { e.post(func() { e.p.topics.see(list) }) }

func (e *events) Ended(runs []uint64) {
	e.post(func() {
		for _, r := range runs {
			if st := e.p.byRun[r]; st != nil {
				st.ended = true
			}
		}
	})
}

func (e *events) Fail(err error) { e.src().fail(err) }
