package dirlog

import (
	"context"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Prune removes the oldest files, as far as all that they hold may go. First a
// checkpoint says that what they hold is void; once that is durable they are
// removed, the oldest first. Nothing is removed that a process which dies at
// any step would still claim to hold; what it left is removed by the next
// Prune.
func (l *Log) Prune(ctx context.Context, ps []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	p := &pruner{log: l, asked: map[sdk.Stream]sdk.Prune{}, stats: map[uint64]map[sdk.Stream]rawfile.Stats{}}
	for _, a := range ps {
		p.asked[a.Stream] = a
	}
	err := p.run(ctx, dryRun)
	if err != nil {
		return nil, linklog.OpError("prune "+l.Path(), err)
	}
	out := make([]sdk.Pruned, len(ps))
	for i, a := range ps {
		out[i] = sdk.Pruned{Stream: a.Stream, RawFloor: p.floors[a.Stream], Rows: p.rows[a.Stream]}
	}
	return out, nil
}

func (p *pruner) run(ctx context.Context, dryRun bool) error {
	log := p.log.log
	if dryRun {
		return log.Current(ctx, func() error { return p.plan(ctx) })
	}
	err := log.Renew(ctx, func() (*Temp, *footer.Footer, error) {
		if err := p.plan(ctx); err != nil {
			return nil, nil, err
		}
		if !p.rises {
			return nil, nil, linklog.ErrNothing
		}
		return log.Plain(p.log.st.without(p.floors))
	})
	if err != nil {
		return err
	}
	faultpoint.Hit("prune")
	if err := log.Remove(ctx, p.below); err != nil {
		return err
	}
	p.log.files.forget(p.below)
	return nil
}

// without is the state as a checkpoint in which nothing is held below floors.
func (st *state) without(floors map[sdk.Stream]int64) *footer.Footer {
	after := newState()
	for s, p := range st.streams {
		q := &stream{epoch: p.epoch, owner: p.owner, cursors: p.cursors}
		floor := floors[s]
		for _, v := range p.set.Voids() {
			q.set.AddVoid(v)
		}
		for _, i := range p.set.Held() {
			q.set.AddVoid(coverage.Void{Interval: coverage.Interval{From: i.From, Next: min(i.Next, floor)}, Reason: coverage.Pruned})
			q.set.AddHeld(coverage.Interval{From: max(i.From, floor), Next: i.Next})
		}
		after.streams[s] = q
	}
	return after.whole()
}
