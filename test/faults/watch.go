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
// Where no group keeps the position, the sink's store says what is committed.
// Its methods may be called from any goroutine.
type watcher struct {
	adm   *kadm.Client
	kcl   *kgo.Client
	group string // empty: there is none
	dir   string
	table *tableWatch // instead of dir, where the sink writes into a table
	begun time.Time

	mu         sync.Mutex
	committed  map[int32]int64
	samples    []verify.Sample
	next       int // number of the file that is read next; all below were
	seen       verify.FirstSeen
	spans      []verify.Span   // of the files, with their voids
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
	committed := w.position(ctx)
	if w.table != nil {
		w.table.observe(ctx, committed, w.differs(committed))
	} else {
		w.readNewFiles()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(verify.Sample{Why: whyNow, At: time.Since(w.begun), Committed: committed, Files: w.next})
}

// position is what is committed at this moment, as far as it can be known.
func (w *watcher) position(ctx context.Context) map[int32]int64 {
	switch {
	case w.group != "":
		return w.offsets(ctx)
	case w.table != nil:
		return w.table.frontier(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return verify.Frontier(w.spans)
}

func (w *watcher) offsets(ctx context.Context) map[int32]int64 {
	committed := map[int32]int64{}
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	offsets, err := w.adm.FetchOffsets(ctx, w.group)
	if err != nil {
		return nil // the group does not exist yet, or the run is over
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil && o.At >= 0 {
			committed[o.Partition] = o.At
		}
	})
	return committed
}

// lastWritten is the last position of each partition of the topic. What is
// committed beyond it was read from now on.
func (w *watcher) lastWritten(ctx context.Context) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, progressWithin)
	defer cancel()
	ends, err := w.adm.ListEndOffsets(ctx, topicName)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list ends of %s: %w", topicName, err)
	}
	out := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset - 1 })
	return out, nil
}

// relied takes a position that somebody relies on at this moment.
func (w *watcher) relied(ctx context.Context, why string, partition int32, next int64) {
	if w.table != nil {
		w.table.requests.relied(ctx, why, partition, next)
		return
	}
	files := filesBelow(w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, verify.Sample{Why: why, At: time.Since(w.begun), Committed: map[int32]int64{partition: next}, Files: files})
}

// differs reports whether something else was committed before.
func (w *watcher) differs(committed map[int32]int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, next := range committed {
		if w.committed[p] != next {
			return true
		}
	}
	return false
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
	w.spans = append(append(w.spans, f.Spans...), f.Voids...)
}
