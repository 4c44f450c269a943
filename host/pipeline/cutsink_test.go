package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// cutSink writes into a cutWorld's store, batch by batch.
type cutSink struct{ w *cutWorld }

func (s *cutSink) Describe() sdk.Description { return sdk.Description{Name: "cut"} }
func (s *cutSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

type cutWriter struct {
	s   *cutSink
	ses sdk.Session
}

func (s *cutSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	return &cutWriter{s, ses}, nil
}

func (w *cutWriter) Close(context.Context) error { return nil }

func (w *cutWriter) Write(_ context.Context, b *sdk.Batch) error {
	x := w.s.w
	x.mu.Lock()
	if x.chance(30, "session died before the write") {
		x.mu.Unlock()
		return errors.New("killed")
	}
	kind := x.hold(b)
	dies := x.chance(30, "session died before the receipt")
	x.mu.Unlock()
	if dies {
		return errors.New("killed")
	}
	w.ses.Report(sdk.AllOutcome(w.ses.ID, b, kind, "another epoch"))
	return nil
}

// hold is a transaction. w.mu is held.
func (w *cutWorld) hold(b *sdk.Batch) sdk.OutcomeKind {
	sp := b.Spans[0]
	if sp.Epoch != w.epochs[sp.Stream] {
		w.did["fenced"]++
		return sdk.Fenced
	}
	if w.rows[sp.Stream] == nil {
		w.rows[sp.Stream] = map[int64]string{}
	}
	for i := range b.Frame.NumRecords() {
		at := b.Frame.Position(i)
		if len(w.set(sp.Stream).Missing(coverage.Interval{From: at, Next: at + 1})) == 0 {
			continue
		}
		w.rows[sp.Stream][at] = string(b.Frame.Value(i))
	}
	w.set(sp.Stream).AddHeld(coverage.Interval{From: sp.From, Next: sp.Next})
	w.note("held %d to %d of %q", sp.From, sp.Next, sp.Stream.Incarnation)
	w.cursors[sp.Stream] = append(w.cursors[sp.Stream], b.Cursors...)
	return sdk.Durable
}

func (s *cutSink) call(f func()) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.chance(15, "store failed") {
		return errors.New("no database")
	}
	f()
	if s.w.chance(15, "store's answer lost") {
		return errors.New("connection reset")
	}
	return nil
}

func (s *cutSink) Acquire(_ context.Context, _ string, ks []sdk.Stream) (out []sdk.Acquired, _ error) {
	return out, s.call(func() {
		for _, k := range ks {
			s.w.tokens++
			s.w.epochs[k] = sdk.Epoch{Number: s.w.epochs[k].Number + 1, Token: [16]byte{s.w.tokens}}
			out = append(out, sdk.Acquired{Stream: k, Epoch: s.w.epochs[k]})
		}
	})
}

func (s *cutSink) Coverage(_ context.Context, _ string, ks []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	return out, s.call(func() {
		for _, k := range ks {
			out = append(out, sdk.StreamCoverage{Stream: k, Set: s.w.set(k).Clone()})
		}
	})
}

func (s *cutSink) Cursors(_ context.Context, ks []sdk.Stream) (out []sdk.Cursor, _ error) {
	return out, s.call(func() {
		for _, k := range ks {
			hole, best := s.w.set(k).FirstHole(), sdk.Cursor{Position: -1}
			for _, c := range s.w.cursors[k] {
				if c.Position <= hole && c.Position >= best.Position {
					best = c
				}
			}
			if best.Position >= 0 {
				out = append(out, best)
			}
		}
	})
}

func (s *cutSink) Record(_ context.Context, _ string, rs []sdk.CoverageRecord) error {
	var fenced error
	err := s.call(func() {
		for _, r := range rs {
			if r.Epoch != s.w.epochs[r.Stream] {
				fenced = sdk.Errorf(sdk.KindFenced, "record", "another epoch")
				return
			}
		}
		for _, r := range rs {
			for _, v := range r.Void {
				s.w.set(r.Stream).AddVoid(v)
			}
		}
	})
	return errors.Join(fenced, err)
}

// snapshot copies the store; the function brings it back.
func (w *cutWorld) snapshot() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows, cov, cursors, epochs := map[sdk.Stream]map[int64]string{}, map[sdk.Stream]*coverage.Set{}, map[sdk.Stream][]sdk.Cursor{}, maps.Clone(w.epochs)
	for k, r := range w.rows {
		rows[k] = maps.Clone(r)
	}
	for k, s := range w.cov {
		cov[k] = s.Clone()
	}
	for k, c := range w.cursors {
		cursors[k] = slices.Clone(c)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.did["restored"]++
		w.note("restored")
		w.rows, w.cov, w.cursors, w.epochs = rows, cov, cursors, epochs
	}
}
