package lane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// recordEvery is how far coverage may lag behind receipts. It may lag (G4):
// what was not recorded when the host dies is delivered again.
const recordEvery = 250 * time.Millisecond

// recordTimeout bounds one call of the store.
const recordTimeout = 30 * time.Second

// record writes coverage and floors behind the receipts until ctx ends.
func (l *Lane) record(ctx context.Context) {
	for fails := 0; ; {
		select {
		case <-l.wakeRecorder:
		case <-ctx.Done():
			return
		}
		if !pause(ctx, max(recordEvery, min(backoff(fails), 10*time.Second))) {
			return
		}
		if err := l.Settle(ctx); err != nil {
			fails++
			l.log.Warn("the lane's coverage was not recorded; trying again", "error", err)
			wake(l.wakeRecorder)
			continue
		}
		fails = 0
	}
}

// Settle records now what the sink has answered, and the live floors.
func (l *Lane) Settle(ctx context.Context) error {
	select {
	case l.recording <- struct{}{}:
		defer func() { <-l.recording }()
	case <-ctx.Done():
		return ctx.Err()
	}
	recs := l.take()
	if len(recs) == 0 {
		return nil
	}
	faultpoint.Hit("cover")
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := l.cfg.Store.Record(ctx, l.cfg.Name, recs); err != nil {
		l.putBack(recs)
		return fmt.Errorf("record coverage of lane %s: %w", l.cfg.Name, err)
	}
	l.recorded(recs)
	return nil
}

// take takes what is to be recorded. The live floor passes what is recorded
// with it, and what was shed or given up; never what may still be delivered.
func (l *Lane) take() []sdk.CoverageRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	lowest := l.lowest()
	var recs []sdk.CoverageRecord
	for s, st := range l.streams {
		floor := st.frontier
		if open, ok := lowest[s]; ok {
			floor = min(floor, open)
		}
		if floor <= st.stored && len(st.held) == 0 && len(st.aside) == 0 {
			continue
		}
		recs = append(recs, sdk.CoverageRecord{Stream: s, Held: merged(st.held), SetAside: merged(st.aside), LiveFloor: max(floor, st.stored)})
		st.held, st.aside = nil, nil
	}
	return recs
}

// merged joins neighbours: a receipt came for each batch.
func merged(in []coverage.Interval) []coverage.Interval {
	var set coverage.Set
	for _, i := range in {
		set.AddHeld(i)
	}
	return slices.Clone(set.Held())
}

func (l *Lane) putBack(recs []sdk.CoverageRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range recs {
		st := l.stream(r.Stream)
		st.held, st.aside = append(st.held, r.Held...), append(st.aside, r.SetAside...)
	}
}

func (l *Lane) recorded(recs []sdk.CoverageRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range recs {
		st := l.stream(r.Stream)
		st.stored = max(st.stored, r.LiveFloor)
	}
}

// lowest is, of each stream that has any, the first position that is open.
// l.mu is held.
func (l *Lane) lowest() map[sdk.Stream]int64 {
	out := map[sdk.Stream]int64{}
	see := func(p *piece) {
		for i, s := range p.batch.Spans {
			if at, ok := out[s.Stream]; p.open[i] && (!ok || s.From < at) {
				out[s.Stream] = s.From
			}
		}
	}
	for _, p := range l.queue {
		see(p)
	}
	for p := range l.later {
		see(p)
	}
	if l.ses != nil {
		for p := range maps.Values(l.ses.sent) {
			see(p)
		}
		for _, w := range l.ses.written { // recovery must not send it beside a Flush that comes
			if at, ok := out[w.stream]; !ok || w.held[0].From < at {
				out[w.stream] = w.held[0].From
			}
		}
	}
	return out
}

func (l *Lane) lowestOpen(s sdk.Stream) int64 {
	if at, ok := l.lowest()[s]; ok {
		return at
	}
	return sdk.MaxPosition
}

// Drain takes nothing more, waits until what it has is answered, while a
// session is open, and records it. ctx bounds it. What was never sent then is
// shed: the floor passes it, and recovery may begin with it at once.
func (l *Lane) Drain(ctx context.Context) error {
	l.mu.Lock()
	l.drain = true
	l.mu.Unlock()
	wake(l.wakeFlusher)
	for !l.idle() {
		select {
		case <-l.wakeDrain:
		case <-ctx.Done():
			l.shedUnsent()
			return l.Settle(context.WithoutCancel(ctx))
		}
	}
	l.shedUnsent()
	return l.Settle(ctx)
}

// shedUnsent sheds what no session was ever sent.
func (l *Lane) shedUnsent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(p *piece) bool {
		if p.sent {
			return false
		}
		l.shed(p.rows)
		clear(p.open)
		return l.free(p)
	})
}

func (l *Lane) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ses == nil || len(l.queue) == 0 && len(l.ses.sent) == 0 && len(l.ses.written) == 0 && len(l.later) == 0
}
