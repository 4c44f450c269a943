//go:build services

package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// TestRealNamedPartitions: what TestNamedPartitions, TestNewPartitions and
// TestNamedPartitionsOfANewTopic show, of a real broker. No group comes to be.
func TestRealNamedPartitions(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(3, topic, nil)
	for p := range int32(3) {
		b.fill(topic, p, 0, 100)
	}
	h := newHost(t).open(b.named(topic, "0", "2-3"))
	h.untilRows(200)
	if _, err := b.admin.UpdatePartitions(t.Context(), 4, topic); err != nil {
		t.Fatal(err)
	}
	h.until("new partition", func() bool { return len(h.assigned) == 3 })
	// A client that knows four partitions; this one's may not yet.
	connect(t, b.addrs).fill(topic, 3, 0, 10)
	h.untilRows(210)
	if got := parts(h.assigned); !slices.Equal(got, []int32{0, 2, 3}) {
		t.Errorf("assigned %v", got)
	}
	rows := h.got()
	h.close()
	same(t, slices.DeleteFunc(rows, func(r row) bool { return r.stream.Partition != 2 }), b.records(topic, 2))
	groups, err := b.admin.ListGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for g := range groups {
		if strings.Contains(g, topic) || g == "" {
			t.Errorf("there is a group %q", g)
		}
	}
}

// TestRealNamedPartitionsOfANewTopic: deleted and created again under its
// name, and "latest" does not skip what the new one holds.
func TestRealNamedPartitionsOfANewTopic(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(1, topic, nil)
	b.fill(topic, 0, 0, 10)
	set := b.named(topic, "0")
	set.Start = "latest"
	h := newHost(t).open(set)
	h.until("a run", func() bool { return len(h.runs) == 1 })
	recreate(t, b, topic)
	b.produceAnew(topic, 20)
	for i, r := range h.untilRows(20) {
		if r.position != int64(i) || !strings.HasPrefix(string(r.value), "new") {
			t.Fatalf("row %d is %q at %d", i, r.value, r.position)
		}
	}
	if last := h.assigned[len(h.assigned)-1]; last.Stream == h.assigned[0].Stream || last.Initial != sdk.StartEarliest {
		t.Errorf("assigned %+v", h.assigned)
	}
}
