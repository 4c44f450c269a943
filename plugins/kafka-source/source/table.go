package source

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// table is what the group has assigned to this member and what the host has
// started. It does no I/O. All methods may be called from any goroutine.
type table struct {
	mu      sync.Mutex
	owned   map[partition]*stream
	runs    map[uint64]*run
	ended   endedRuns
	changed chan struct{} // closed and replaced at each change
	now     func() time.Time
}

func newTable() *table {
	return &table{
		owned:   make(map[partition]*stream),
		runs:    make(map[uint64]*run),
		changed: make(chan struct{}),
		now:     time.Now,
	}
}

// notify wakes whoever waits for a change. The caller holds mu.
func (t *table) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// watch returns a channel that is closed at the next change.
func (t *table) watch() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// assign takes note of partitions that this member is to read, and reports
// whether any is new.
func (t *table) assign(parts map[string][]int32) (added bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, nums := range parts {
		for _, n := range nums {
			if p := (partition{topic, n}); t.owned[p] == nil {
				t.owned[p] = &stream{}
				added = true
			}
		}
	}
	t.notify()
	return added
}

// owns reports whether this member is to read p, and whether the host was told.
func (t *table) owns(p partition) (owned, announced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.owned[p]
	return s != nil, s != nil && s.announced
}

// unannounced lists the partitions that the host was not told about.
func (t *table) unannounced() []partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []partition
	for p, s := range t.owned {
		if !s.announced {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, comparePartitions)
	return list
}

// announce gives an owned, not yet announced partition its identity. False:
// it is not wanted any more.
func (t *table) announce(p partition, id sdk.Stream, topicID [16]byte, parts int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.owned[p]
	if s == nil || s.announced {
		return false
	}
	*s = stream{id: id, topicID: topicID, parts: parts, announced: true}
	return true
}

// start begins runs, all or none: a host whose Start fails has started
// nothing. What runs already of their streams is over. histories is what is
// known of the records before each start.
func (t *table) start(starts []sdk.Start, histories []history) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, st := range starts {
		if s := t.find(st.Stream); s == nil || s.id != st.Stream {
			return notAssigned("start", st.Stream)
		}
		if t.runs[st.Run] != nil || t.ended.has(st.Run) {
			return sdk.Errorf(sdk.KindFatal, "start "+st.Stream.String(), "run %d was used before", st.Run)
		}
	}
	for i, st := range starts {
		s := t.find(st.Stream)
		t.end(s)
		s.name = st.Name()
		s.run = &run{
			id: st.Run, stream: s.name, topicID: s.topicID, parts: s.parts,
			next: st.Position, sent: st.Position, committed: sdk.NoPosition,
		}
		s.run.epochs, s.run.sentEpochs = histories[i], histories[i]
		t.runs[st.Run] = s.run
	}
	t.notify()
	return nil
}

// find returns the announced stream that goes by a name. The caller holds mu.
func (t *table) find(name sdk.Stream) *stream {
	s := t.owned[partition{name.Topic, name.Partition}]
	if s == nil || !s.announced || !s.goesBy(name) {
		return nil
	}
	return s
}

// end ends s's run, if it has one. The caller holds mu.
func (t *table) end(s *stream) {
	if s.run == nil {
		return
	}
	s.run.over = true
	t.ended.add(s.run.id)
	delete(t.runs, s.run.id)
	s.run = nil
}

// drop ends runs; their streams stay. It returns once no delivery of them is
// under way, or when ctx ends.
func (t *table) drop(ctx context.Context, ids []uint64) error {
	t.mu.Lock()
	var ended []*run
	for _, id := range ids {
		if r := t.runs[id]; r != nil {
			t.end(t.find(r.stream))
			ended = append(ended, r)
		}
	}
	t.notify()
	t.mu.Unlock()
	return t.waitSent(ctx, ended)
}

func (t *table) waitSent(ctx context.Context, runs []*run) error {
	for {
		changed := t.watch()
		if !t.anySending(runs) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *table) anySending(runs []*run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(runs, func(r *run) bool { return r.sending > 0 })
}

// halt stops delivery of the partitions' runs, but leaves them open to
// commits, and returns the runs.
func (t *table) halt(parts map[string][]int32) []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []uint64
	t.each(parts, func(_ partition, s *stream) {
		if s.run != nil {
			s.run.over = true
			ids = append(ids, s.run.id)
		}
	})
	slices.Sort(ids)
	t.notify()
	return ids
}

// remove takes partitions away and returns the runs that this ended.
func (t *table) remove(parts map[string][]int32) []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []uint64
	t.each(parts, func(p partition, s *stream) {
		if s.run != nil {
			ids = append(ids, s.run.id)
			t.end(s)
		}
		delete(t.owned, p)
	})
	slices.Sort(ids)
	t.notify()
	return ids
}

// others lists the owned partitions that are not among mine.
func (t *table) others(mine map[string][]int32) map[string][]int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string][]int32)
	for p := range t.owned {
		if !slices.Contains(mine[p.topic], p.num) {
			out[p.topic] = append(out[p.topic], p.num)
		}
	}
	return out
}

// replace ends what runs under a topic's name with another topic id than the
// current one: the topic was deleted and created again. The partitions stay
// and want to be announced anew. It returns the runs that ended.
func (t *table) replace(topic string, id [16]byte) []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []uint64
	for p, s := range t.owned {
		if p.topic != topic || !s.announced || s.topicID == id {
			continue
		}
		if s.run != nil {
			ids = append(ids, s.run.id)
			t.end(s)
		}
		t.owned[p] = &stream{}
	}
	if ids != nil {
		t.notify()
	}
	slices.Sort(ids)
	return ids
}

// each calls f for the owned ones of parts. The caller holds mu.
func (t *table) each(parts map[string][]int32, f func(partition, *stream)) {
	for topic, nums := range parts {
		for _, n := range nums {
			p := partition{topic, n}
			if s := t.owned[p]; s != nil {
				f(p, s)
			}
		}
	}
}

// poke wakes whoever waits for a change: what the table's users know beside
// it has changed.
func (t *table) poke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify()
}
