package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// world is what the pipelines of a random schedule work on: the source's
// server and the sink's target, under one lock, so that a rule about both can
// be checked at the very moment of a commit.
type world struct {
	mu    sync.Mutex
	rng   *rand.Rand
	parts []*chaosPart
	byKey map[sdk.Stream]*chaosPart
	calm  bool // no more faults
	// storeless: the sink keeps no coverage. Positions that retention removed
	// are known to nobody then, and a zombie cannot be fenced.
	storeless bool
	// named: the store keeps the position, and nobody shares out the streams:
	// each reader believes that it has all of them.
	named bool
	// begun counts the hosts, takenOver what other hosts acquired.
	begun, takenOver int
	on               stage
	dir              *directory // nil: the store is the world's own
	lanes            []*chaosLane
	noClock          bool // of raw's store
	rare             int  // how much rarer the store fails
	broken           []string
	did              map[string]int // what the schedule really did
	seq              uint64
	// story is what happened last, for whoever looks into a failure.
	story []string
	began time.Time
	// liars are what sinks still say once their session is over.
	liars sync.WaitGroup
}

// chaosPart is one stream, at the source and in the store.
type chaosPart struct {
	key        sdk.Stream
	start, end int64 // retention, and what was produced
	committed  int64
	owner      *chaosReader
	run        uint64 // the owner's, 0: none

	rows map[int64]int
	cov  coverage.Set
	// rawFloor is the position below which raw was pruned.
	rawFloor int64
	epoch    sdk.Epoch
	// fences are the times at which somebody else acquired the stream.
	fences []time.Time
}

func newWorld(seed uint64, parts int, on stage) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), byKey: map[sdk.Stream]*chaosPart{}, on: on, storeless: seed%5 == 0 && seed%4 != 3 && on != onFiles, named: seed%4 == 3, rare: 1, did: map[string]int{}, began: time.Now()}
	if on == onFiles {
		w.dir = newDirectory(seed)
	}
	for i := range parts {
		// Topics take turns, so that one batch has streams of two granularities.
		k := sdk.Stream{Topic: []string{"b", "r"}[i%2], Incarnation: "i", Partition: int32(i / 2)}
		p := &chaosPart{key: k, committed: sdk.NoPosition, rows: map[int64]int{}, end: w.rng.Int64N(40)}
		w.parts = append(w.parts, p)
		w.byKey[k] = p
	}
	return w
}

// exists reports whether there is a record at a position: some are never
// delivered, and some spans have none at all.
func exists(pos int64) bool { return pos%5 != 3 && (pos < 17 || pos > 26) }

// hole is the lowest position of a record that is not in the store and may
// still come. The lock is held.
func (w *world) hole(p *chaosPart) int64 {
	switch {
	case w.dir != nil:
		return w.dir.coverage(p.key).FirstHole()
	case !w.storeless:
		return p.cov.FirstHole()
	}
	all := p.cov.Clone()
	all.AddVoid(coverage.Void{Interval: coverage.Interval{Next: p.start}, Reason: coverage.Retention})
	return all.FirstHole()
}

// n is a random number below n, chance a random decision; both take the lock.
func (w *world) n(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// fault decides with a chance of one in n, while there are faults at all.
func (w *world) fault(n int, what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faultLocked(n, what)
}

func (w *world) faultLocked(n int, what string) bool {
	if w.calm || w.rng.IntN(n) != 0 {
		return false
	}
	w.did[what]++
	return true
}

func (w *world) pause(max time.Duration) time.Duration { return time.Duration(1 + w.n(int(max))) }

// note tells the story. The lock is held.
func (w *world) note(format string, args ...any) {
	if len(w.story) > 200 {
		w.story = append(w.story[:0], w.story[100:]...)
	}
	w.story = append(w.story, fmt.Sprintf("%9.3fs  ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// wrong notes a broken rule. The lock is held.
func (w *world) wrong(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *world) broke() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) == 0 {
		return nil
	}
	return errors.New(w.broken[0])
}

// commit takes a mark of a reader, as a broker does. The lock is held.
func (w *world) commit(r *chaosReader, m sdk.Mark) error {
	p := w.byKey[m.Stream]
	run := r.runs[m.Run]
	switch {
	case w.named && (r.dropped[m.Run] || run == nil):
		return sdk.Errorf(sdk.KindFenced, "commit", "run %d has ended", m.Run)
	case w.named && m.Next <= w.hole(p): // there is nowhere to store it
		run.committed = max(run.committed, m.Next)
		return nil
	case p == nil || !w.named && p.owner != r:
		return sdk.Errorf(sdk.KindFenced, "commit", "%s is not assigned", m.Stream)
	case r.dropped[m.Run] || p.run != 0 && p.run != m.Run:
		return sdk.Errorf(sdk.KindFenced, "commit", "run %d has ended", m.Run)
	case w.faultLocked(20, "commit refused"):
		return sdk.Errorf(sdk.KindRetryable, "commit", "the coordinator is loading")
	}
	if hole := w.hole(p); m.Next > hole {
		w.wrong("INV1: committed %d of %s, the store has all below %d", m.Next, p.key, hole)
	}
	if run != nil && m.Next < run.committed {
		w.wrong("INV2: committed %d of %s after %d in one run", m.Next, p.key, run.committed)
	}
	p.committed = m.Next
	if run != nil {
		run.committed = m.Next
	}
	if w.faultLocked(30, "commit's answer lost") {
		return sdk.Errorf(sdk.KindRetryable, "commit", "the answer was lost")
	}
	return nil
}

// claims are the spans of a file and whether their epochs are current. The
// lock is held.
func (w *world) stale(batches []*sdk.Batch) map[sdk.Span]bool {
	out := map[sdk.Span]bool{}
	for _, b := range batches {
		for _, s := range b.Spans {
			if s.Epoch != w.byKey[s.Stream].epoch {
				out[s] = true
			}
		}
	}
	return out
}

// checkRows checks that a batch's rows lie in its spans. The lock is held.
func (w *world) checkRows(b *sdk.Batch) {
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			k, pos := b.Frame.Stream(b.Frame.StreamIndex(i)), b.Frame.Position(i)
			if !slices.ContainsFunc(b.Spans, func(s sdk.Span) bool { return s.Stream == k && s.From <= pos && pos < s.Next }) {
				w.wrong("batch %d has the row at %d of %s, and no span for it", b.Seq, pos, k)
			}
		}
	}
}

// hold makes [from, next) of a span durable. The lock is held.
func (w *world) hold(b *sdk.Batch, s sdk.Span, from, next int64) {
	p := w.byKey[s.Stream]
	has := map[int64]bool{}
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			if b.Frame.Stream(b.Frame.StreamIndex(i)) == s.Stream {
				has[b.Frame.Position(i)] = true
			}
		}
	}
	for _, m := range p.cov.Missing(coverage.Interval{From: from, Next: next}) {
		for pos := m.From; pos < m.Next; pos++ {
			switch {
			case has[pos]:
				p.rows[pos]++
			case exists(pos):
				w.wrong("a span [%d,%d) of %s without the row at %d", s.From, s.Next, p.key, pos)
			}
		}
	}
	p.cov.AddHeld(coverage.Interval{From: from, Next: next})
}

// acquire issues an epoch. The lock is held.
func (w *world) acquire(p *chaosPart) sdk.Epoch {
	w.seq++
	p.epoch.Number++
	p.epoch.Token = [16]byte{byte(w.seq), byte(w.seq >> 8)}
	return p.epoch
}

// intrude acquires a stream as another host would, not so often that it is a
// duel.
func (w *world) intrude() {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parts[w.rng.IntN(len(w.parts))]
	if w.calm || w.storeless || len(p.fences) > 0 && time.Since(p.fences[len(p.fences)-1]) < 65*time.Second {
		return
	}
	p.fences = append(p.fences, time.Now())
	w.note("%s acquired by another host", p.key)
	if w.dir != nil {
		w.dir.sink(`{"dir":"mem"}`).Acquire(context.Background(), "another host", []sdk.Stream{p.key})
	} else {
		w.acquire(p)
	}
	w.did["another host acquired"]++
	w.takenOver++
}

// grow produces records, and now and then retention removes some.
func (w *world) grow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parts[w.rng.IntN(len(w.parts))]
	p.end += w.rng.Int64N(30)
	if w.rng.IntN(8) == 0 {
		p.start = max(p.start, p.end-w.rng.Int64N(40))
		w.did["retention"]++
	}
}

// judge checks the end: each record that was not removed by retention is there
// once, and everything is committed.
func (w *world) judge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		for pos := range p.end {
			held := len(p.cov.HeldWithin(coverage.Interval{From: pos, Next: pos + 1})) > 0
			switch n := p.rows[pos]; {
			case n > 1:
				w.wrong("position %d of %s is there %d times", pos, p.key, n)
			case held && exists(pos) && n == 0, !held && n > 0:
				w.wrong("position %d of %s: held %v, %d rows", pos, p.key, held, n)
			}
		}
		if hole := w.hole(p); hole != p.end {
			w.wrong("%s: the first hole is %d, want %d", p.key, hole, p.end)
		}
		if p.committed != p.end && !w.named {
			w.wrong("%s: committed %d, want %d", p.key, p.committed, p.end)
		}
	}
}
