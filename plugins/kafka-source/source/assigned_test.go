package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// named are settings that name partitions.
func (b *broker) named(topic string, partitions ...string) Settings {
	set := b.settings("", topic)
	set.Partitions = partitions
	return set
}

// groupRequests counts what only a member, or somebody who commits, asks for.
func groupRequests(b *broker) func() int {
	seen := make(chan string, 1000)
	b.Fault(kfake.Fault{
		Keys:    []kmsg.Key{kmsg.JoinGroup, kmsg.FindCoordinator, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.Heartbeat, kmsg.ConsumerGroupHeartbeat},
		Observe: true, Count: -1,
		When: func(r kmsg.Request) bool {
			seen <- fmt.Sprintf("%T", r)
			return true
		},
	})
	return func() int { return len(seen) }
}

func parts(as []sdk.Assignment) (nums []int32) {
	for _, a := range as {
		nums = append(nums, a.Stream.Partition)
	}
	slices.Sort(nums)
	return nums
}

// TestNamedPartitions: what the settings name is read, nothing else, and no
// group is heard of. Nobody has a position, and Commit is answered.
func TestNamedPartitions(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	asked := groupRequests(b)
	b.create(9, "t", nil)
	for p := range int32(9) {
		b.fill("t", p, 0, 10)
	}
	h := newHost(t).open(b.named("t", "0-2", "7"))
	h.untilRows(40)
	for _, r := range h.got() {
		if p := r.stream.Partition; p > 2 && p != 7 {
			t.Fatalf("a row of partition %d", p)
		}
	}
	if got := parts(h.assigned); !slices.Equal(got, []int32{0, 1, 2, 7}) {
		t.Errorf("assigned %v", got)
	}
	for _, a := range h.assigned {
		if a.Committed != sdk.NoPosition || a.Initial != sdk.StartEarliest || a.Stream.Incarnation == "" {
			t.Errorf("assignment %+v, want it without a position", a)
		}
	}
	run := h.got()[0].run
	if err := h.commitAll([]uint64{run}); len(err) > 0 {
		t.Errorf("commit: %v", err)
	}
	if err := h.drop(t.Context(), []uint64{run}); err != nil {
		t.Fatal(err)
	}
	if err := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: h.got()[0].stream, Run: run, Next: 10}}); len(err) == 0 || sdk.KindOf(err[0]) != sdk.KindFenced {
		t.Errorf("commit of a run that has ended: %v, want it fenced", err)
	}
	h.close()
	if n := asked(); n > 0 {
		t.Errorf("the brokers were asked %d times about a group", n)
	}
}

// TestTwoReadersOfNamedPartitions: no group divides them; both are given all.
func TestTwoReadersOfNamedPartitions(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "t", nil)
	b.fill("t", 0, 0, 10)
	b.fill("t", 1, 0, 10)
	one, two := newHost(t).open(b.named("t", "all")), newHost(t).open(b.named("t", "0-1"))
	one.untilRows(20)
	two.untilRows(20)
}

// TestNewPartitions: a partition that is added is taken if all are asked for,
// or if it was named, and not otherwise; and it begins at its first record.
func TestNewPartitions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions []string
		start      string
		want       []int32
	}{
		"all":   {[]string{"all"}, "earliest", []int32{0, 1, 2}},
		"named": {[]string{"0", "2"}, "latest", []int32{0, 2}},
		"fixed": {[]string{"0-1"}, "earliest", []int32{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.create(2, "t", nil)
			first := slices.DeleteFunc(slices.Clone(c.want), func(p int32) bool { return p == 2 })
			h := newHost(t)
			h.start = false
			set := b.named("t", c.partitions...)
			set.Start = c.start
			h.open(set)
			h.until("first streams", func() bool { return len(h.assigned) == len(first) })
			if _, err := b.admin.UpdatePartitions(t.Context(), 3, "t"); err != nil {
				t.Fatal(err)
			}
			h.until("new streams", func() bool { return len(h.assigned) >= len(c.want) })
			waitForMetadata(t, b)
			if got := parts(h.assigned); !slices.Equal(got, c.want) {
				t.Fatalf("assigned %v, want %v", got, c.want)
			}
			for _, a := range h.assigned {
				late := a.Stream.Partition == 2
				if (a.Initial == sdk.StartLatest) != (c.start == "latest" && !late) {
					t.Errorf("%s begins at %s", a.Stream, a.Initial)
				}
			}
		})
	}
}

// waitForMetadata waits until the source has asked the brokers twice more.
func waitForMetadata(t *testing.T, b *broker) {
	t.Helper()
	asked := make(chan struct{}, 1000)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, Count: -1, When: func(kmsg.Request) bool {
		asked <- struct{}{}
		return true
	}})
	for range 3 {
		select {
		case <-asked:
		case <-time.After(waitFor):
			t.Fatal("no metadata was asked for")
		}
	}
}

// TestNamedPartitionsOfANewTopic: deleted and created again, the topic's named
// partitions are other streams, from their first record.
func TestNamedPartitionsOfANewTopic(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h := newHost(t)
	set := b.named("t", "0")
	set.Start = "latest"
	h.open(set)
	h.until("stream", func() bool { return len(h.assigned) == 1 && len(h.runs) == 1 })
	if _, err := b.admin.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	b.create(1, "t", nil)
	b.produceAnew("t", 5)
	h.untilRows(5)
	h.until("new stream", func() bool { return len(h.assigned) == 2 })
	if old, now := h.assigned[0], h.assigned[1]; old.Stream == now.Stream || now.Initial != sdk.StartEarliest || now.Committed != sdk.NoPosition {
		t.Errorf("assigned %+v and then %+v", old, now)
	}
}

// TestNamedPartitionsStartAgain: a run goes on where the host says, after the
// source was opened anew.
func TestNamedPartitionsStartAgain(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 50)
	one := newHost(t).open(b.named("t", "0"))
	one.untilRows(50)
	one.close()
	two := newHost(t)
	two.start = false
	two.open(b.named("t", "0"))
	two.until("stream", func() bool { return len(two.assigned) == 1 })
	if err := two.startAt(two.assigned[0].Stream, newRun(), 20); err != nil {
		t.Fatal(err)
	}
	if rows := two.untilRows(30); rows[0].position != 20 || len(rows) != 30 {
		t.Errorf("%d rows from %d on", len(rows), rows[0].position)
	}
}

func TestParsePicked(t *testing.T) {
	for _, c := range []struct {
		in   string
		nums []int32
		all  bool
		bad  bool
	}{
		{"7", []int32{7}, false, false},
		{"0-3 7", []int32{0, 1, 2, 3, 7}, false, false},
		{"5-5", []int32{5}, false, false},
		{"all", nil, true, false},
		{"all 1", nil, false, true},
		{"all all", nil, false, true},
		{"3-1", nil, false, true},
		{"-1", nil, false, true},
		{"1-", nil, false, true},
		{"+1", nil, false, true},
		{"a", nil, false, true},
		{"1 1", nil, false, true},
		{"0-3 2", nil, false, true},
		{"0-100000", nil, false, true},
		{"0-99999999999", nil, false, true},
		{"ALL", nil, false, true},
	} {
		p, diags := parsePicked(strings.Fields(c.in))
		if diags.HasErrors() != c.bad || !c.bad && (p.all != c.all || !slices.Equal(p.nums, c.nums)) {
			t.Errorf("%q gives %v, %v", c.in, p, diags)
		}
	}
}

// FuzzParsePicked: no text makes more than what is bounded, or a negative one.
func FuzzParsePicked(f *testing.F) {
	for _, s := range []string{"0", "0-3", "all", "-", "9-1", "0-99999", "2147483648", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, diags := parsePicked([]string{s})
		if len(p.nums) > maxPartitions || len(p.nums) > 0 && p.nums[0] < 0 || !diags.HasErrors() && !p.all && len(p.nums) == 0 {
			t.Fatalf("%q gives %d partitions, %v", s, len(p.nums), diags)
		}
	})
}
