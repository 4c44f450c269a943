package main

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// laneEvery is how often the secondaries' state is looked at.
const laneEvery = 100 * time.Millisecond

// laneWatch looks, while a raw-first run goes on, at what the store says of the
// secondaries: everything of one look is of one snapshot of the database. Its
// methods may be called from any goroutine.
type laneWatch struct {
	files func() int // a number below which the lake's files are visible

	looking sync.Mutex // held by who looks
	reader  *table.Reader
	noted   bool // who claims and ends windows is noted

	mu       sync.Mutex
	looks    int
	known    map[string][]verify.Span // looked for already, by lane
	lake     []verify.Claim           // what the lake's coverage claimed first, and the files that were there
	cover    verify.Findings          // INV8
	rules    verify.Findings          // floors and windows
	unfenced verify.Findings          // INV6
	said     map[string]bool
}

func newLaneWatch(dsn string, files func() int) *laneWatch {
	return &laneWatch{
		reader: table.NewReader(dsn), files: files, known: map[string][]verify.Span{}, said: map[string]bool{},
		cover: verify.Findings{Kind: "secondary covered before its rows"}, rules: verify.Findings{Kind: "floors and windows"},
		unfenced: verify.Findings{Kind: "window changed without its fence"},
	}
}

// run looks until ctx ends.
func (l *laneWatch) run(ctx context.Context) {
	defer func() {
		l.looking.Lock()
		defer l.looking.Unlock()
		l.reader.Close()
	}()
	tick := time.NewTicker(laneEvery)
	defer tick.Stop()
	for {
		_ = l.look(ctx) // the database is away: the next one sees it
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look is one look. Coverage is there before the files are listed: a file that
// appears in between only helps the product.
func (l *laneWatch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*sampleWithin)
	defer cancel()
	l.looking.Lock()
	defer l.looking.Unlock()
	if !l.noted {
		ready, err := l.reader.WatchWindows(ctx)
		if err != nil || !ready {
			return err
		}
		l.noted = true
	}
	l.mu.Lock()
	known := l.known[copyLane]
	l.mu.Unlock()
	state, err := l.reader.Lanes(ctx, copyLane, known)
	if err != nil {
		return err
	}
	files := l.files()
	stale, err := l.reader.Unfenced(ctx)
	if err != nil {
		return err
	}
	l.take(state, files, stale)
	return nil
}

func (l *laneWatch) take(state table.LaneState, files int, stale []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	for _, p := range state.Missing {
		l.cover.Add("%s is held by lane %s and is not in its table", p, copyLane)
	}
	for _, s := range verify.Beyond(state.Held[lakeLane], l.known[lakeLane]) {
		l.lake = append(l.lake, verify.Claim{Span: s, Files: files})
	}
	for lane, held := range state.Held {
		l.known[lane] = verify.Merge(append(l.known[lane], held...))
	}
	l.once(&l.rules, state.Wrong)
	l.once(&l.unfenced, stale)
}

// once adds what was not said before: a state is seen in many looks.
func (l *laneWatch) once(f *verify.Findings, lines []string) {
	for _, line := range lines {
		if !l.said[line] {
			l.said[line] = true
			f.Add("%s", line)
		}
	}
}

// found is how much is wrong so far.
func (l *laneWatch) found() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cover.Count + l.rules.Count + l.unfenced.Count
}
