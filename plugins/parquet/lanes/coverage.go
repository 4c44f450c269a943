package lanes

import (
	"context"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Coverage returns what a lane holds, has void and has set aside, durably.
func (s *Store) Coverage(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	var out []sdk.StreamCoverage
	err := s.read(ctx, "read coverage of lane "+lane, func(st *state) {
		out = nil
		for _, stream := range streams {
			p := st.part(key{lane, stream})
			out = append(out, sdk.StreamCoverage{Stream: stream, Set: p.set.Clone(), SetAside: p.setAside()})
		}
	})
	return out, err
}

// LiveFloors returns the live floors of streams in a lane, in their order.
func (s *Store) LiveFloors(ctx context.Context, lane string, streams []sdk.Stream) ([]int64, error) {
	var out []int64
	err := s.read(ctx, "read live floors of lane "+lane, func(st *state) {
		out = nil
		for _, stream := range streams {
			out = append(out, st.part(key{lane, stream}).floor)
		}
	})
	return out, err
}

// Streams returns every stream that a lane knows of, in no particular order.
func (s *Store) Streams(ctx context.Context) ([]sdk.Stream, error) {
	var out []sdk.Stream
	err := s.read(ctx, "list streams", func(st *state) {
		out = nil
		seen := map[sdk.Stream]bool{}
		for k := range st.parts {
			if !seen[k.stream] {
				seen[k.stream] = true
				out = append(out, k.stream)
			}
		}
	})
	return out, err
}

// Record adds to a lane's coverage and raises its live floors. Epochs are the
// caller's business. A window that was unrecoverable and is covered now is
// withdrawn.
func (s *Store) Record(ctx context.Context, lane string, records []sdk.CoverageRecord) error {
	if err := checkLane(lane); err != nil {
		return rejected("record coverage: %w", err)
	}
	for _, r := range records {
		if err := footer.CheckStream(r.Stream); err != nil {
			return sdk.Errorf(sdk.KindFatal, "record coverage", "%w", err)
		}
	}
	return s.change(ctx, "record coverage of lane "+lane, func(st *state, e *entry) error {
		after := map[key]*part{}
		for _, r := range records {
			k := key{lane, r.Stream}
			if after[k] == nil {
				after[k] = st.part(k).clone()
			}
			if p := after[k].extend(r); !p.empty() {
				p.key = k
				e.parts = append(e.parts, p)
			}
		}
		for id, w := range st.windows {
			p := after[key{w.Lane, w.Stream}]
			if w.State == sdk.WindowUnrecoverable && p != nil && len(p.unresolved(coverage.Interval{From: w.From, Next: w.Next})) == 0 {
				e.gone = append(e.gone, id)
			}
		}
		return nil
	})
}

func (p *part) clone() *part {
	out := &part{set: *p.set.Clone(), floor: p.floor}
	out.aside.Merge(&p.aside)
	return out
}

// extend adds r and returns what of it is new.
func (p *part) extend(r sdk.CoverageRecord) (e partEntry) {
	for _, h := range r.Held {
		for _, i := range p.set.Missing(h) {
			e.held = append(e.held, i)
			p.set.AddHeld(i)
		}
	}
	for _, v := range r.Void {
		for _, i := range p.set.Holes(v.Interval) {
			v := coverage.Void{Interval: i, Reason: v.Reason}
			e.void = append(e.void, v)
			p.set.AddVoid(v)
		}
	}
	for _, a := range r.SetAside {
		for _, i := range p.aside.Missing(a) {
			e.aside = append(e.aside, i)
			p.aside.AddHeld(i)
		}
	}
	if r.LiveFloor > p.floor {
		e.floor, p.floor = r.LiveFloor, r.LiveFloor
	}
	return e
}
