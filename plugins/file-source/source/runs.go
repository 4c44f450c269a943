package source

import (
	"context"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// start begins runs: all of them, or none.
func (t *table) start(ctx context.Context, starts []sdk.Start) error {
	turns, err := t.makeWay(starts)
	if err != nil {
		return err
	}
	if err := waitFor(ctx, turns); err != nil {
		return err
	}
	t.locked(func() {
		for _, s := range starts {
			t.begin(s)
		}
	})
	return nil
}

// makeWay ends the runs of streams that are started anew.
func (t *table) makeWay(starts []sdk.Start) (turns []*turn, err error) {
	t.locked(func() {
		for _, s := range starts {
			if f := t.streams[s.Stream]; f == nil || f.state != announced && f.state != started || f.leaving {
				err = sdk.Errorf(sdk.KindFenced, "start "+s.Stream.String(), "the stream is not assigned")
				return
			}
		}
		for _, s := range starts {
			turns = t.end(t.streams[s.Stream], turns)
		}
	})
	return turns, err
}

// begin opens a run. The table is locked.
func (t *table) begin(s sdk.Start) {
	f := t.streams[s.Stream]
	if f == nil || f.state != announced {
		return // it was given up just now
	}
	f.state, f.run, f.next, f.durable, f.caught = started, s.Run, s.Position, s.Position, false
	t.started(f)
	t.behind++
	t.offer(f)
}

// started: the host has answered the announcement, or need not any more. The
// table is locked.
func (t *table) started(f *file) {
	if f.fresh {
		f.fresh = false
		t.unstarted--
	}
}

// end closes a file's run, if it has one, and tells its turn to stop; turns
// gets what has to be waited for. The table is locked.
func (t *table) end(f *file, turns []*turn) []*turn {
	if f.turn != nil {
		f.turn.cancel()
		turns = append(turns, f.turn)
	}
	if f.state != started {
		return turns
	}
	if !f.caught {
		t.behind--
	}
	f.state, f.run, f.caught = announced, 0, false
	if f.queued {
		f.queued = false
		t.ready = slices.DeleteFunc(t.ready, func(o *file) bool { return o == f })
	}
	return turns
}

// drop closes runs and waits until nothing of them is on its way.
func (t *table) drop(ctx context.Context, runs []uint64) error {
	var turns []*turn
	t.locked(func() {
		for f := range t.held {
			if f.state != started || !slices.Contains(runs, f.run) {
				continue
			}
			turns = t.end(f, turns)
			if f.leaving {
				t.release(f)
			}
		}
	})
	return waitFor(ctx, turns)
}

// release takes back a file that the host was asked to give up. The table is
// locked.
func (t *table) release(f *file) {
	delete(t.held, f)
	t.started(f)
	f.state, f.leaving = resting, false
	switch {
	case f.gone:
		delete(t.streams, f.stream)
	case f.dirty:
		t.wait(f)
	}
}

func waitFor(ctx context.Context, turns []*turn) error {
	for _, tn := range turns {
		select {
		case <-tn.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// commit takes the news of what is durable. Nothing is stored: the sink has
// the positions.
func (t *table) commit(m sdk.Mark) (err error) {
	t.locked(func() {
		switch f := t.streams[m.Stream]; {
		case f == nil || f.state != announced && f.state != started:
			err = sdk.Errorf(sdk.KindFenced, "commit "+m.Stream.String(), "the stream is not assigned")
		case f.state == started && f.run == m.Run:
			f.durable = max(f.durable, m.Next)
		case f.state == started:
			err = sdk.Errorf(sdk.KindFenced, "commit "+m.Stream.String(), "run %d is over", m.Run)
		}
	})
	return err
}
