//go:build services

package source

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
)

// groupKinds are the ways in which two members share out partitions.
var groupKinds = []struct {
	name     string
	one, two string // group_protocol, or the balancers of the classic one
}{
	{"cooperative", "classic", "classic"},
	{"KIP-848", "consumer", "consumer"},
	{"eager", "range", "range"},
	{"from eager to cooperative", "range", "cooperative-sticky range"},
	{"classic then KIP-848", "classic", "consumer"},
	{"KIP-848 then classic", "consumer", "classic"},
}

// TestRealRevoke: a second member joins in mid-batch. What the first has been
// given is committed while the revoke waits; then its commits are refused.
// Together they deliver every record once.
func TestRealRevoke(t *testing.T) {
	for _, c := range groupKinds {
		t.Run(c.name, func(t *testing.T) {
			b := realBroker(t)
			topic := name(t)
			b.create(4, topic, nil)
			for p := range int32(4) {
				b.fill(topic, p, 0, 200)
			}
			one := newHost(t)
			one.name, one.commit = "one", false
			var during []error
			one.onRevoking = func(runs []uint64) { during = append(during, one.commitAll(runs)...) }
			one.open(b.member(c.one, topic))
			one.untilRows(800)
			two := newHost(t)
			two.name = "two"
			two.open(b.member(c.two, topic))
			two.until("two streams", func() bool { return len(two.assigned) == 2 })
			for _, err := range during {
				if err != nil {
					t.Errorf("commit during the revoke: %v", err)
				}
			}
			for _, a := range two.assigned {
				if a.Committed != 200 || a.CommittedIncarnation != a.Stream.Incarnation {
					t.Errorf("the second member got %+v, want what the first committed", a)
				}
			}
			wantFenced(t, one)
			b.wantType(topic, c.one, c.two)
			for p := range int32(4) {
				b.fill(topic, p, 200, 100)
			}
			one.until("the rest", func() bool { return len(one.rows)+two.count() == 1200 })
		})
	}
}

func (b *broker) member(protocol, topic string) Settings {
	s := b.settings("g-"+topic, topic)
	s.GroupProtocol = protocol
	if protocol != "classic" && protocol != "consumer" {
		s.GroupProtocol, s.Balancers = "classic", strings.Fields(protocol)
	}
	return s
}

// wantType checks that the group really is of the new kind where a member asked
// for it, and of the old where none did.
func (b *broker) wantType(topic string, protocols ...string) {
	b.t.Helper()
	groups, err := b.admin.ListGroups(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	want := "classic"
	if slices.Contains(protocols, "consumer") {
		want = "consumer"
	}
	if got := groups["g-"+topic].GroupType; got != want {
		b.t.Errorf("the group is of type %q, want %q", got, want)
	}
}

// wantFenced tries to commit what was revoked.
func wantFenced(t *testing.T, h *host) {
	t.Helper()
	h.mu.Lock()
	revoked := slices.Clone(h.revoked)
	h.mu.Unlock()
	if len(revoked) == 0 {
		t.Error("nothing was revoked")
	}
	errs := h.commitAll(revoked)
	if errs == nil {
		t.Errorf("a commit of %d revoked runs was stored", len(revoked))
	}
	for _, err := range errs {
		if sdk.KindOf(err) != sdk.KindFenced {
			t.Errorf("commit after the revoke: %v, want it fenced", err)
		}
	}
}

// TestRealSlowSink: a new member joins while the first's sink takes longer
// over its batch than session, revoke and rebalance timeouts. The first gives
// up what it must at the deadline, keeps its membership and the rest, and
// nobody waits for it.
func TestRealSlowSink(t *testing.T) {
	for _, c := range groupKinds[:3] {
		t.Run(c.name, func(t *testing.T) {
			b := realBroker(t)
			topic := name(t)
			b.create(4, topic, nil)
			for p := range int32(4) {
				b.fill(topic, p, 0, 50)
			}
			set := b.member(c.one, topic)
			set.SessionTimeout, set.RebalanceTimeout, set.RevokeTimeout = time.Second, 3*time.Second, 1500*time.Millisecond
			one := newHost(t)
			one.name, one.commit, one.stuck = "slow", false, true
			one.open(set)
			one.untilRows(200)
			two := newHost(t)
			two.name = "new"
			begun := time.Now()
			two.open(set)
			two.until("two streams", func() bool { return len(two.assigned) == 2 })
			if d := time.Since(begun); d > 8*time.Second {
				t.Errorf("the new member waited %s for one that is slow", d)
			}
			two.untilRows(100) // what was not committed is delivered again
			untilPast(t, begun.Add(5*time.Second))
			one.mu.Lock()
			lost, kept := len(one.lost), []uint64{}
			for id := range one.runs {
				if !slices.Contains(one.revoked, id) {
					kept = append(kept, id)
				}
			}
			one.mu.Unlock()
			if lost > 0 || len(kept) != 2 {
				t.Errorf("the slow member lost %d runs and kept %d, want 0 and 2", lost, len(kept))
			}
			for _, err := range one.commitAll(kept) {
				if err != nil {
					t.Errorf("commit of what it kept: %v", err)
				}
			}
			wantFenced(t, one)
		})
	}
}

// untilPast waits for a moment: a timeout of the broker's has passed then.
func untilPast(t *testing.T, at time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
	}
}

// TestRealEagerMember: a member that knows both ways joins; it gives up all
// its partitions at each rebalance, the source only those that move.
func TestRealEagerMember(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(4, topic, nil)
	for p := range int32(4) {
		b.fill(topic, p, 0, 20)
	}
	one := newHost(t).open(b.member("classic", topic))
	one.untilRows(80)
	eager, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("g-"+topic),
		kgo.Balancers(kgo.CooperativeStickyBalancer(), kgo.RangeBalancer()), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer eager.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var got int
	each := 20 // records of each partition
	one.until("all between both", func() bool {
		// The records that the source committed do not come again: there have
		// to be new ones until the other member has some.
		for p := range int32(4) {
			if got == 0 {
				b.fill(topic, p, each, 5)
			}
		}
		if got == 0 {
			each += 5
		}
		poll, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		got += eager.PollFetches(poll).NumRecords()
		stop()
		return got > 0 && len(one.rows)+got >= 4*each || ctx.Err() != nil
	})
	eager.Close()
	for p := range int32(4) {
		b.fill(topic, p, each, 1)
		b.untilCommitted("g-"+topic, topic, p, int64(each)+1)
	}
}

// TestRealDowngrade: a member that only knows an eager way joins a group that
// was cooperative. The one that was there still has all partitions when they
// are shared out anew. It commits what stays its own, and nothing of what the
// other has by then; that comes again.
func TestRealDowngrade(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(4, topic, nil)
	for p := range int32(4) {
		b.fill(topic, p, 0, 200)
	}
	one := newHost(t)
	one.name, one.commit = "one", false
	var during []error
	one.onRevoking = func(runs []uint64) { during = append(during, one.commitAll(runs)...) }
	one.open(b.member("cooperative-sticky range", topic))
	one.untilRows(800)
	two := newHost(t)
	two.name, two.commit = "two", false
	two.open(b.member("range", topic))
	two.until("two streams", func() bool { return len(two.assigned) == 2 })
	one.until("its own again", func() bool { return len(one.lost) == 2 && len(one.revoked) == 2 && len(one.assigned) == 6 })
	for _, err := range during {
		if err != nil {
			t.Errorf("commit of what stays: %v", err)
		}
	}
	for _, err := range one.commitAll(one.lost) {
		if sdk.KindOf(err) != sdk.KindFenced {
			t.Errorf("commit of what the other has: %v, want it fenced", err)
		}
	}
	for _, a := range two.assigned {
		if at, _ := b.committed("g-"+topic, topic, a.Stream.Partition); at != 0 || a.Committed != 0 { // its start
			t.Errorf("partition %d was committed at %d by whom it was taken from (%d when it was assigned)", a.Stream.Partition, at, a.Committed)
		}
	}
	two.untilRows(400)
	for _, a := range one.assigned[4:] {
		if a.Committed != 200 {
			t.Errorf("partition %d goes on at %d, want 200", a.Stream.Partition, a.Committed)
		}
	}
}

// TestRealOtherProtocol: members that share out in a way that the source does
// not know keep it out; it says so, and comes in once they are gone.
func TestRealOtherProtocol(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(2, topic, nil)
	b.fill(topic, 0, 0, 5)
	other, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("g-"+topic),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.PollFetches(t.Context()).NumRecords() == 0 {
		t.Fatal("the other member got nothing")
	}
	h := newHost(t)
	said := new(linesOf)
	h.extraLog = said
	h.open(b.member("classic", topic))
	b.poll("line about the other members", func() bool { return said.has("share out its partitions in another way") })
	other.Close()
	h.untilRows(5)
	if len(h.failed) > 0 {
		t.Errorf("the source failed: %v", h.failed)
	}
}

// linesOf keeps what was logged.
type linesOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *linesOf) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *linesOf) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

// TestRealRecreated: a topic that is deleted and created again, while it is
// read and while nobody reads. The old position stands for nothing new.
func TestRealRecreated(t *testing.T) {
	for _, start := range []string{"latest", "earliest"} {
		t.Run(start, func(t *testing.T) {
			b := realBroker(t)
			topic := name(t)
			group := "g-" + topic
			b.create(1, topic, nil)
			set := b.member("classic", topic)
			set.Start = start
			h := newHost(t).open(set)
			h.until("a run", func() bool { return len(h.runs) == 1 })
			b.untilCommitted(group, topic, 0, 0)
			b.fill(topic, 0, 0, 10)
			h.untilRows(10)
			b.untilCommitted(group, topic, 0, 10)
			old := h.assigned[0].Stream
			recreate(t, b, topic)
			b.produceAnew(topic, 20)
			for i, r := range h.untilRows(30) {
				if isOld := r.stream == old; isOld != (i < 10) || strings.HasPrefix(string(r.value), "new") != (i >= 10) {
					t.Fatalf("row %d of %v is %q", i, r.stream, r.value)
				}
			}
			b.untilCommitted(group, topic, 0, 20)
			if start == "latest" {
				return // while nobody reads, the broker forgets what the group read
			}
			h.close()
			recreate(t, b, topic)
			b.produceAnew(topic, 25)
			h = newHost(t).open(set)
			if rows := h.untilRows(25); rows[0].position != 0 {
				t.Errorf("the first row of the third topic is at %d, want 0", rows[0].position)
			}
			b.untilCommitted(group, topic, 0, 25)
		})
	}
}

func recreate(t *testing.T, b *broker, topic string) {
	t.Helper()
	if _, err := b.admin.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	b.poll("topic again", func() bool {
		_, err := b.admin.CreateTopic(t.Context(), 1, 1, nil, topic)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			t.Fatal(err)
		}
		return err == nil
	})
}
