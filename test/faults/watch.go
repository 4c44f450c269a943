package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
)

// sampleEvery is how often committed offsets and files are compared.
const sampleEvery = 20 * time.Millisecond

// sampleWithin bounds a sample while the broker is away.
const sampleWithin = 2 * time.Second

// watcher samples committed offsets and visible files while the run goes on.
// Its methods may be called from any goroutine.
type watcher struct {
	adm   *kadm.Client
	kcl   *kgo.Client
	group string
	dir   string
	table *tableWatch // instead of dir, where the sink writes into a table
	begun time.Time

	mu         sync.Mutex
	committed  map[int32]int64
	samples    []verify.Sample
	next       int // number of the file that is read next; all below were
	seen       verify.FirstSeen
	incomplete verify.Findings // visible files that cannot be read
	twice      int             // rows that an earlier file held
	rewound    verify.Findings // committed offsets that fell
	moved      chan struct{}   // closed and replaced when a commit moves on
}

func newWatcher(group, dir string) *watcher {
	return &watcher{
		group: group, dir: dir, begun: time.Now(),
		committed: map[int32]int64{}, seen: verify.FirstSeen{}, moved: make(chan struct{}),
		incomplete: verify.Findings{Kind: "incomplete visible file"}, rewound: verify.Findings{Kind: "commit went back"},
	}
}

// connect opens the client that run uses.
func (w *watcher) connect(broker string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return fmt.Errorf("open admin client: %w", err)
	}
	w.kcl, w.adm = c, kadm.NewClient(c)
	return nil
}

// run samples until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer w.kcl.Close()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		w.sample(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample reads the offsets first and the files after: a file that appears in
// between only helps the product.
func (w *watcher) sample(ctx context.Context) {
	committed := map[int32]int64{}
	fetch, cancel := context.WithTimeout(ctx, sampleWithin)
	offsets, err := w.adm.FetchOffsets(fetch, w.group)
	cancel()
	if err != nil {
		offsets = nil // the group does not exist yet, or the run is over
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil && o.At >= 0 {
			committed[o.Partition] = o.At
		}
	})
	if w.table != nil {
		w.table.observe(ctx, committed)
	} else {
		w.readNewFiles()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(verify.Sample{At: time.Since(w.begun), Committed: committed, Files: w.next})
}

// committing takes a commit request that the broker has just seen.
func (w *watcher) committing(s verify.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.At = time.Since(w.begun)
	w.samples = append(w.samples, s)
}

func (w *watcher) note(s verify.Sample) {
	changed := false
	for p, next := range s.Committed {
		if old := w.committed[p]; next < old {
			w.rewound.Add("partition %d from %d to %d", p, old, next)
		}
		changed = changed || w.committed[p] != next
		w.committed[p] = next
	}
	if changed {
		w.samples = append(w.samples, s)
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// readNewFiles reads the files that became visible since the last time, in
// the order of the log. Where a listing shows a file and not yet the one
// before, the rest waits for the next time.
func (w *watcher) readNewFiles() {
	files := visibleFiles(w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, file := range files {
		n := fileNumber(file)
		if n > w.next && w.next > 0 {
			return
		}
		if n >= w.next {
			w.next = n + 1
			w.readNewFile(file)
		}
	}
}

func (w *watcher) readNewFile(file string) {
	f, err := readback.Parquet(file)
	if err != nil {
		w.incomplete.Add("%v", err)
		return
	}
	for _, row := range f.Rows {
		if _, ok := w.seen[row.Place]; ok {
			w.twice++
			continue
		}
		w.seen[row.Place] = w.next
	}
}
