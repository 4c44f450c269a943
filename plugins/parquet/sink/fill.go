package sink

import (
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// add writes b's missing rows to the open file.
func (w *writer) add(b *sdk.Batch) error {
	if err := check(b); err != nil {
		return err
	}
	missing := make([][]coverage.Interval, len(b.Spans))
	for i, s := range b.Spans {
		missing[i] = w.missing(s)
	}
	if b.Rows != nil {
		if err := leaveOut(b, missing); err != nil {
			return err
		}
	}
	for _, r := range b.RowRanges() {
		rs, err := runs(b, r.From, r.To)
		if err != nil {
			return err
		}
		for _, r := range rs {
			if err := w.addRun(b, r, missing[r.span]); err != nil {
				return err
			}
		}
	}
	w.open.add(b, missing)
	return nil
}

// missing returns the parts of s that neither the log nor a file on its way
// holds. The log comes first: a file gets into the log before it leaves.
func (w *writer) missing(s sdk.Span) []coverage.Interval {
	out := w.log.Missing(s.Stream, coverage.Interval{From: s.From, Next: s.Next})
	for _, f := range append([]*file{w.sealing, w.open}, w.queue...) {
		if f != nil {
			out = f.subtract(s.Stream, out)
		}
	}
	return out
}

func (w *writer) addRun(b *sdk.Batch, r run, missing []coverage.Interval) error {
	for _, m := range missing {
		from, to := r.within(b, m)
		if from == to {
			continue
		}
		if err := w.ensure(w.open); err != nil {
			return err
		}
		if err := w.open.raw.Append(b.Frame, b.IDs, b.Spans[r.span].Stream, from, to); err != nil {
			return err
		}
	}
	return nil
}

// ensure gives f a temporary file and an encoder.
func (w *writer) ensure(f *file) error {
	if f.temp != nil {
		return nil
	}
	t, err := w.log.Temp()
	if err != nil {
		return err
	}
	f.temp = t
	if n := len(w.free); n > 0 {
		f.raw, w.free = w.free[n-1], w.free[:n-1]
	} else {
		f.raw = rawfile.NewWriter(w.opt)
	}
	f.raw.Reset(t)
	return nil
}
