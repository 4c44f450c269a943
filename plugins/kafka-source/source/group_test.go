package source

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// commits watches what is committed, in order.
type commits struct {
	mu   sync.Mutex
	list []commitSeen
}

type commitSeen struct {
	member string
	part   int32
	at     int64
}

func watchCommits(b *broker) *commits {
	c := new(commits)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		req := r.(*kmsg.OffsetCommitRequest)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				c.list = append(c.list, commitSeen{req.MemberID, p.Partition, p.Offset})
			}
		}
		return true
	}})
	return c
}

func (c *commits) all() []commitSeen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// TestRevoke: a second member takes half of the partitions. What the first
// has delivered is committed before it gives them up, and nothing of them
// after; together they deliver every record once.
func TestRevoke(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(4, "t", nil)
	for p := range int32(4) {
		b.fill("t", p, 0, 200)
	}
	seen := watchCommits(b)
	one := newHost(t)
	one.name, one.commit = "one", false
	var during []error
	var before int
	one.onRevoking = func(runs []uint64) {
		during = one.commitAll(runs)
		before = len(seen.all())
	}
	one.open(b.settings("g", "t"))
	one.untilRows(800)
	two := newHost(t)
	two.name = "two"
	two.open(b.settings("g", "t"))
	two.until("two streams", func() bool { return len(two.assigned) == 2 })
	if len(one.revoked) != 2 {
		t.Fatalf("%d runs were revoked, want 2", len(one.revoked))
	}
	for _, err := range during {
		if err != nil {
			t.Errorf("commit during the revoke: %v", err)
		}
	}
	gone := make(map[int32]bool)
	for _, a := range two.assigned {
		gone[a.Stream.Partition] = true
		if a.Committed != 200 || a.CommittedIncarnation != a.Stream.Incarnation {
			t.Errorf("the second member got %+v, want what the first committed", a)
		}
	}
	after := one.commitAll(one.revoked)
	if after == nil {
		t.Error("a commit after the revoke was stored")
	}
	for _, err := range after {
		if sdk.KindOf(err) != sdk.KindFenced {
			t.Errorf("commit after the revoke: %v, want it fenced", err)
		}
	}
	two.untilAt("t", two.assigned[0].Stream.Partition, 200)
	first := seen.all()[0].member
	for _, c := range seen.all()[before:] {
		if c.member == first && gone[c.part] {
			t.Errorf("the first member committed partition %d at %d after it gave it up", c.part, c.at)
		}
	}
	for p := range int32(4) {
		b.fill("t", p, 200, 100)
	}
	one.until("the rest", func() bool { return len(one.rows)+two.count() == 1200 })
}

func (h *host) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.rows)
}

// commitAll commits all that was delivered of runs.
func (h *host) commitAll(runs []uint64) []error {
	h.mu.Lock()
	var marks []sdk.Mark
	for _, id := range runs {
		marks = append(marks, sdk.Mark{Stream: h.runs[id].stream, Run: id, Next: h.runs[id].next})
	}
	h.mu.Unlock()
	return h.reader.Commit(context.Background(), marks)
}

// TestRevokeDeadline: a host that does not answer loses the partitions at the
// deadline all the same.
func TestRevokeDeadline(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "t", nil)
	set := b.settings("g", "t")
	set.RevokeTimeout = 300 * time.Millisecond
	one := newHost(t)
	one.name = "one"
	one.stuck = true
	one.open(set)
	one.until("two runs", func() bool { return len(one.runs) == 2 })
	two := newHost(t)
	two.name = "two"
	two.open(set)
	two.until("a stream", func() bool { return len(two.assigned) == 1 })
}

// TestLatest: the decision is recorded before the start, so that what comes
// while nobody reads is not skipped by deciding again.
func TestLatest(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	set := b.settings("g", "t")
	set.Start = "latest"
	h := newHost(t).open(set)
	h.until("a run", func() bool { return len(h.runs) == 1 })
	if a := h.assigned[0]; a.Initial != sdk.StartLatest || a.Committed != sdk.NoPosition {
		t.Errorf("assigned %+v, want the latest and nothing committed", a)
	}
	b.untilCommitted("g", "t", 0, 10)
	h.close()
	b.fill("t", 0, 10, 5)
	h = newHost(t).open(set)
	if rows := h.untilRows(5); rows[0].position != 10 {
		t.Errorf("the first row is at %d, want 10", rows[0].position)
	}
}

// TestResolve: symbolic positions become numbers, of the stream that is asked
// for only.
func TestResolve(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h := newHost(t)
	h.start = false
	h.open(b.settings("g", "t"))
	h.until("a stream", func() bool { return len(h.assigned) == 1 })
	s := h.assigned[0].Stream
	for _, c := range []struct {
		q    sdk.Query
		want int64
	}{
		{sdk.Query{Stream: s, At: sdk.StartEarliest}, 0},
		{sdk.Query{Stream: s, At: sdk.StartLatest}, 10},
		{sdk.Query{Stream: s, At: sdk.StartTimestamp, TimestampMS: 1}, 0},
		{sdk.Query{Stream: s, At: sdk.StartTimestamp, TimestampMS: time.Now().Add(time.Hour).UnixMilli()}, 10},
	} {
		got, err := h.reader.Resolve(t.Context(), []sdk.Query{c.q})
		if err != nil || got[0].Position != c.want || got[0].Stream != s {
			t.Errorf("%s is at %v (%v), want %d", c.q.At, got, err, c.want)
		}
	}
	other := s
	other.Incarnation = "another"
	if _, err := h.reader.Resolve(t.Context(), []sdk.Query{{Stream: other, At: sdk.StartLatest}}); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("the position of another incarnation: %v, want it fenced", err)
	}
	behind := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.UnknownTopicOrPartition, Count: -1})
	if _, err := h.reader.Resolve(t.Context(), []sdk.Query{{Stream: s, At: sdk.StartLatest}}); sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("brokers that do not know the topic at the moment: %v, want it retryable", err)
	}
	behind.Remove()
	if _, err := h.reader.Resolve(t.Context(), []sdk.Query{{Stream: s}}); sdk.KindOf(err) != sdk.KindFatal {
		t.Errorf("no position at all: %v, want it fatal", err)
	}
}

// TestNewPartition: with start = latest, a partition that is added after the
// first run begins at its first record, also if it is noticed only after a
// restart.
func TestNewPartition(t *testing.T) {
	for _, running := range []bool{true, false} {
		name := map[bool]string{true: "while it runs", false: "after a restart"}[running]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(2, "t", nil)
			set := b.settings("g", "t")
			set.Start = "latest"
			h := newHost(t).open(set)
			h.until("two runs", func() bool { return len(h.runs) == 2 })
			if !running {
				h.close()
			}
			if _, err := b.admin.CreatePartitions(t.Context(), 1, "t"); err != nil {
				t.Fatal(err)
			}
			b.fill("t", 2, 0, 5)
			if !running {
				h = newHost(t).open(set)
			}
			h.untilRows(5)
			b.untilCommitted("g", "t", 2, 5)
			_, meta := b.committed("g", "t", 2)
			if got := parseMetadata(meta); got.Parts != 2 || got.Incarnation != h.assigned[0].Stream.Incarnation {
				t.Errorf("metadata %s, want the incarnation and the 2 partitions of the first run", meta)
			}
			for _, a := range h.assigned {
				if want := map[bool]sdk.StartAt{true: sdk.StartEarliest, false: sdk.StartLatest}[a.Stream.Partition == 2]; a.Initial != want {
					t.Errorf("partition %d begins at the %s, want the %s", a.Stream.Partition, a.Initial, want)
				}
			}
		})
	}
}

// TestRecreated: a topic that is deleted and created again is another stream.
// It is read from its first record also with start = latest.
func TestRecreated(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	set := b.settings("g", "t")
	set.Start = "latest"
	h := newHost(t).open(set)
	h.until("a run", func() bool { return len(h.runs) == 1 })
	b.untilCommitted("g", "t", 0, 0)
	b.fill("t", 0, 0, 10)
	h.untilRows(10)
	b.untilCommitted("g", "t", 0, 10)
	old := h.assigned[0].Stream
	if err := b.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	b.create(1, "t", nil)
	b.produceAnew("t", 20)
	rows := h.untilRows(30)
	if len(rows) != 30 {
		t.Errorf("%d rows, want 10 of the old and 20 of the new topic", len(rows))
	}
	for i, r := range rows {
		if isOld := r.stream == old; isOld != (i < 10) || strings.HasPrefix(string(r.value), "new") != (i >= 10) {
			t.Fatalf("row %d of %v is %q", i, r.stream, r.value)
		}
	}
	h.mu.Lock()
	oldRun := uint64(0)
	for id, r := range h.runs {
		if r.stream == old {
			oldRun = id
		}
	}
	ended := len(h.lost) + len(h.revoked)
	h.mu.Unlock()
	if ended == 0 {
		t.Error("the host was not told that the old run ended")
	}
	errs := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: old, Run: oldRun, Next: 10}})
	if errs == nil || sdk.KindOf(errs[0]) != sdk.KindFenced {
		t.Errorf("commit for the old topic: %v, want it fenced", errs)
	}
	b.untilCommitted("g", "t", 0, 20)
}

// commitAs commits partition 0 as a program that is no member does.
func (b *broker) commitAs(group, topic string, at int64, meta string) {
	b.t.Helper()
	var os kadm.Offsets
	os.Add(kadm.Offset{Topic: topic, Partition: 0, At: at, LeaderEpoch: -1, Metadata: meta})
	if err := b.admin.CommitAllOffsets(b.t.Context(), group, os); err != nil {
		b.t.Fatal(err)
	}
}

// TestCommittedByAnotherTopic: what was committed for a topic that is gone is
// shown as such.
func TestCommittedByAnotherTopic(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	b.commitAs("g", "t", 7, metadata{Incarnation: "gone", Parts: 1}.String())
	set := b.settings("g", "t")
	set.Start = "latest"
	h := newHost(t).open(set)
	h.untilRows(10)
	if a := h.assigned[0]; a.Committed != 7 || a.CommittedIncarnation != "gone" || a.Initial != sdk.StartEarliest {
		t.Errorf("assigned %+v, want what was committed for the other topic, and a start at the first record", a)
	}
	b.untilCommitted("g", "t", 0, 10)
	if _, meta := b.committed("g", "t", 0); parseMetadata(meta).Parts != 0 {
		t.Errorf("metadata %s, want no partition at the first run", meta)
	}
}

// TestCommitErrors: each answer of the coordinator, and what becomes of it.
func TestCommitErrors(t *testing.T) {
	for _, c := range []struct {
		err   *kerr.Error
		count int
		kind  sdk.Kind // 0: it succeeds in the end
	}{
		{kerr.RebalanceInProgress, 3, 0},
		{kerr.IllegalGeneration, 2, 0},
		{kerr.CoordinatorLoadInProgress, 2, 0},
		{kerr.NotCoordinator, 1, 0},
		{kerr.StaleMemberEpoch, 2, 0},
		{kerr.FencedMemberEpoch, 1, sdk.KindFenced},
		{kerr.UnknownMemberID, 1, sdk.KindFenced},
		{kerr.GroupAuthorizationFailed, 1, sdk.KindFatal},
		{kerr.OffsetMetadataTooLarge, 1, sdk.KindFatal},
		{kerr.UnknownServerError, 1, sdk.KindRetryable},
		{kerr.UnknownTopicOrPartition, 1, sdk.KindRetryable}, // a coordinator that is behind: the stream is still ours
	} {
		t.Run(c.err.Message, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(2, "t", nil)
			for p := range int32(2) {
				b.fill("t", p, 0, 10)
			}
			h := newHost(t)
			h.commit = false
			h.open(b.settings("g", "t"))
			h.untilRows(20)
			b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Partitions: []int32{1}, Err: c.err, Count: c.count})
			h.mu.Lock()
			marks := make([]sdk.Mark, 2)
			for id, r := range h.runs {
				marks[r.stream.Partition] = sdk.Mark{Stream: r.stream, Run: id, Next: r.next}
			}
			h.mu.Unlock()
			errs := h.reader.Commit(t.Context(), marks)
			if c.kind == 0 && errs != nil || c.kind != 0 && (errs == nil || errs[0] != nil || sdk.KindOf(errs[1]) != c.kind) {
				t.Errorf("errors %v, want kind %q for the second mark only", errs, c.kind)
			}
			if at, _ := b.committed("g", "t", 0); at != 10 {
				t.Errorf("partition 0 is committed at %d, want 10", at)
			}
			want := int64(10)
			if c.kind != 0 {
				want = 0 // the start that was recorded
			}
			if at, _ := b.committed("g", "t", 1); at != want {
				t.Errorf("partition 1 is committed at %d, want %d", at, want)
			}
		})
	}
}

// TestCommitNeverGoesBack within a run; a new run may begin lower.
func TestCommitNeverGoesBack(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h := newHost(t)
	h.commit = false
	h.open(b.settings("g", "t"))
	h.untilRows(10)
	s := h.assigned[0].Stream
	run := h.rows[0].run
	for _, next := range []int64{8, 3} {
		if errs := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: s, Run: run, Next: next}}); errs != nil {
			t.Fatal(errs)
		}
		if at, _ := b.committed("g", "t", 0); at != 8 {
			t.Errorf("committed at %d after a mark at %d, want 8", at, next)
		}
	}
	again := newRun()
	if err := h.startAt(s, again, 2); err != nil {
		t.Fatal(err)
	}
	h.untilRows(18)
	if errs := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: s, Run: again, Next: 5}, {Stream: s, Run: run, Next: 9}}); errs[0] != nil || sdk.KindOf(errs[1]) != sdk.KindFenced {
		t.Errorf("errors %v, want only the old run fenced", errs)
	}
	if at, _ := b.committed("g", "t", 0); at != 5 {
		t.Errorf("committed at %d, want 5", at)
	}
}
