package sink

import (
	"context"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/sdk"
)

// seal is the sealer: it makes commits of full files until the session ends.
func (w *writer) seal(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-w.age.C:
			w.detachDue()
		}
		for f := w.take(); f != nil; f = w.take() {
			rb, err := w.commit(ctx, f)
			f.discard()
			w.settle(f, rb, err)
		}
		if w.finished() {
			return
		}
	}
}

// detachDue seals the open file if its time has come.
func (w *writer) detachDue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		return
	}
	if left := time.Until(w.open.due); left > 0 {
		w.age.Reset(left)
		return
	}
	w.detach()
}

// take takes the next full file and makes room for another.
func (w *writer) take() *file {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	w.sealing = w.queue[0]
	w.queue = w.queue[1:]
	close(w.moved)
	w.moved = make(chan struct{})
	return w.sealing
}

func (w *writer) finished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || w.closing && len(w.queue) == 0
}

// commit completes f and appends it to the log.
func (w *writer) commit(ctx context.Context, f *file) (*dirlog.Rollback, error) {
	foot := f.footer(w.log)
	if len(foot.Spans)+len(foot.Cursors) == 0 {
		return w.log.Settle(ctx, f.claimList())
	}
	if err := w.ensureSealing(f); err != nil {
		return nil, err
	}
	if err := f.raw.Finish(foot); err != nil {
		return nil, err
	}
	faultpoint.Hit("close")
	if err := f.temp.Sync(); err != nil {
		return nil, err
	}
	return w.log.Commit(ctx, f.temp, foot, f.claimList())
}

func (w *writer) ensureSealing(f *file) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ensure(f)
}

// settle answers f's batches. If f was rolled back, what came after it is
// too: it may have left out rows that f was to hold.
func (w *writer) settle(f *file, rb *dirlog.Rollback, err error) {
	w.mu.Lock()
	w.sealing = nil
	var after []*file
	switch {
	case err != nil:
		w.end(err)
	case rb != nil:
		after = w.drop()
	case f.raw != nil && len(w.free) < 2:
		w.free = append(w.free, f.raw) // its encoder is sound
	}
	w.mu.Unlock()
	if err != nil {
		w.fail(err)
		return
	}
	faultpoint.Hit("receipt")
	for _, b := range f.batches {
		w.report(b, rb)
	}
	for _, f := range after {
		for _, b := range f.batches {
			w.report(b, &dirlog.Rollback{})
		}
	}
}

// report answers a batch.
func (w *writer) report(b batch, rb *dirlog.Rollback) {
	r := sdk.Receipt{Session: w.ses.ID, Seq: b.seq, Outcomes: make([]sdk.Outcome, len(b.spans))}
	for i, s := range b.spans {
		o := sdk.Outcome{Stream: s.Stream, Run: s.Run, From: s.From, Next: s.Next, Kind: sdk.Durable}
		if rb != nil {
			o.Kind, o.Reason = sdk.Retryable, "its file was rolled back: another span of it was fenced, or other commits hold part of it"
			if reason, fenced := rb.Fenced[dirlog.Claim{Stream: s.Stream, Epoch: s.Epoch}]; fenced {
				o.Kind, o.Reason = sdk.Fenced, reason
			}
		}
		r.Outcomes[i] = o
	}
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if !w.silent {
		w.ses.Report(r)
	}
}

// fail ends the session at the host.
func (w *writer) fail(err error) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if !w.silent {
		w.silent = true
		w.ses.Fail(err)
	}
}

func (w *writer) silence() {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.silent = true
}
