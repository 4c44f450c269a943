package pipeline

import (
	"context"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// believed is what the sink is known to hold of a run.
type believed struct {
	run    uint64
	stream sdk.Stream
	held   []coverage.Interval
}

// compare reads the coverage of what runs, before a new session is sent
// anything: while there was no connection, the store may have been restored to
// an older state. Its epochs need not show that.
func (p *Pipeline) compare(ctx context.Context) error {
	if p.store == nil {
		return nil
	}
	runs, err := p.believed(ctx)
	if err != nil || len(runs) == 0 {
		return err
	}
	streams := make([]sdk.Stream, len(runs))
	for i, r := range runs {
		streams[i] = r.stream
	}
	sets, err := p.lookUp(ctx, streams)
	if err != nil {
		return err
	}
	p.box.post(func() {
		for _, r := range runs {
			if st := p.byRun[r.run]; st != nil && !holds(sets[r.stream], r.held) {
				p.log.Error("the sink no longer holds what it has acknowledged", "stream", r.stream.String())
				p.startAgain(st, true)
			}
		}
	})
	return nil
}

// believed asks the loop.
func (p *Pipeline) believed(ctx context.Context) ([]believed, error) {
	reply := make(chan []believed, 1)
	p.box.post(func() {
		var out []believed
		for run, st := range p.byRun {
			out = append(out, believed{run, st.key, st.held.Clone().Held()})
		}
		reply <- out
	})
	select {
	case out := <-reply:
		return out, nil
	case <-p.stopSink:
		return nil, errStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func holds(set *coverage.Set, held []coverage.Interval) bool {
	for _, i := range held {
		if set == nil || !set.Covers(i) {
			return false
		}
	}
	return true
}
