package wire

import (
	"maps"
	"slices"
	"sync"
)

// revocations are the runs whose end a source waits for.
type revocations struct {
	mu      sync.Mutex
	waiting []*revocation
}

type revocation struct {
	runs map[uint64]bool
	all  chan struct{}
}

func newRevocations() *revocations { return &revocations{} }

// begin returns a revocation whose channel closes once all runs have been
// dropped. end forgets it.
func (r *revocations) begin(runs []uint64) *revocation {
	v := &revocation{runs: map[uint64]bool{}, all: make(chan struct{})}
	for _, run := range runs {
		v.runs[run] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, v)
	return v
}

func (r *revocations) dropped(runs []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := r.waiting[:0]
	for _, v := range r.waiting {
		for _, run := range runs {
			delete(v.runs, run)
		}
		if len(v.runs) > 0 {
			keep = append(keep, v)
			continue
		}
		close(v.all)
	}
	clear(r.waiting[len(keep):])
	r.waiting = keep
}

// left are the runs that have not been dropped yet.
func (r *revocations) left(v *revocation) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(v.runs))
}

func (r *revocations) end(v *revocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = slices.DeleteFunc(r.waiting, func(w *revocation) bool { return w == v })
}
