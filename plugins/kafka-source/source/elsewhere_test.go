package source

import (
	"slices"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// untilPending waits until the newest word is that a topic is read elsewhere
// and not all of it, or that none is.
func (h *host) untilPending(want bool) {
	h.t.Helper()
	h.until("word of what is elsewhere", func() bool {
		if len(h.topics) == 0 {
			return false
		}
		pending := false
		for _, t := range h.topics[len(h.topics)-1] {
			pending = pending || t.Presence == sdk.TopicPending
		}
		return pending == want
	})
}

// live are the runs that go on.
func (h *host) live() (runs []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, r := range h.runs {
		if !r.over {
			runs = append(runs, id)
		}
	}
	return runs
}

// A member hears of what others have not committed before it is given its own
// partitions, and again once they have.
func TestOthersAreWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(4, "t", nil)
	b.create(1, "empty", nil)
	for p := range int32(4) {
		b.fill("t", p, 0, 50)
	}
	one := newHost(t)
	one.name, one.commit = "one", false
	one.onRevoking = func([]uint64) {} // nothing is committed
	one.open(b.settings("g", "t", "empty"))
	one.untilRows(200)
	one.mu.Lock()
	if n := len(one.topics); n != 1 {
		t.Errorf("a member alone was told %d times of topics: %+v", n, one.topics)
	}
	one.mu.Unlock()

	two := newHost(t)
	two.name = "two"
	two.open(b.settings("g", "t", "empty"))
	two.until("streams", func() bool { return len(two.assigned) > 0 })
	two.mu.Lock()
	last := two.topics[len(two.topics)-1]
	two.mu.Unlock()
	if !slices.ContainsFunc(last, func(x sdk.Topic) bool { return x.Name == "t" && x.Presence == sdk.TopicPending }) {
		t.Errorf("with its partitions the second member was told %+v, want t pending", last)
	}
	for _, a := range two.assigned {
		if a.Stream.Topic == "t" {
			two.untilAt("t", a.Stream.Partition, 50)
		}
	}
	two.untilPending(true) // the first has committed nothing
	for _, err := range one.commitAll(one.live()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	two.untilPending(false)
	one.untilPending(false) // what the second got is committed
	// What came later is not what was there.
	for p := range int32(4) {
		b.fill("t", p, 50, 10)
	}
	two.mu.Lock()
	n := len(two.topics)
	two.mu.Unlock()
	two.until("lag", func() bool { return two.ends[two.assigned[0].Stream] > 0 })
	two.mu.Lock()
	defer two.mu.Unlock()
	if len(two.topics) != n {
		t.Errorf("told again: %+v", two.topics[n:])
	}
}

// A member that is told to give partitions up hears that others have to go on
// with them before it forgets them.
func TestGivenUpIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "t", nil)
	b.fill("t", 0, 0, 50)
	b.fill("t", 1, 0, 50)
	one := newHost(t)
	one.name, one.commit = "one", false
	var told bool
	one.onRevoking = func([]uint64) {
		one.mu.Lock()
		defer one.mu.Unlock()
		last := one.topics[len(one.topics)-1]
		told = last[len(last)-1].Presence == sdk.TopicPending
	}
	one.open(b.settings("g", "t"))
	one.untilRows(100)
	two := newHost(t)
	two.name, two.start = "two", false // as a host that has just been killed
	two.open(b.settings("g", "t"))
	two.until("a stream", func() bool { return len(two.assigned) == 1 })
	if !told {
		t.Error("the partition was given up before the host was told that it is not all read")
	}
	one.untilPending(true)
}
