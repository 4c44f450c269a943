package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// TestCursors: a run tells the leader epochs of what it reads where it begins
// and where they change. A run that is given a cursor knows them.
func TestCursors(t *testing.T) {
	t.Parallel()
	b := newBroker(t, kfake.NumBrokers(3))
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h, s := manual(t, b, b.settings("g", "t"))
	if err := h.startAt(s, newRun(), 4); err != nil {
		t.Fatal(err)
	}
	h.untilRows(6)
	first := b.epoch("t")
	b.moveLeader("t")
	b.fill("t", 0, 10, 10)
	h.untilRows(16)
	second := b.epoch("t")
	h.wantCursors(fmt.Sprintf(`[4 {"twg":1,"epochs":[[%d,4]]} 10 {"twg":1,"epochs":[[%d,4],[%d,10]]}]`, first, first, second))

	h.forgetCursors()
	newest := history{{first, 4}, {second, 10}}.token()
	if err := h.startAs(sdk.Start{Stream: s, Run: newRun(), Position: 15, Cursor: newest}); err != nil {
		t.Fatal(err)
	}
	h.untilRows(21)
	b.moveLeader("t")
	b.fill("t", 0, 20, 1)
	h.untilRows(22)
	h.wantCursors(fmt.Sprintf(`[20 {"twg":1,"epochs":[[%d,4],[%d,10],[%d,20]]}]`, first, second, b.epoch("t")))

	// At the very beginning of an epoch nothing of it is known to be read.
	h.forgetCursors()
	if err := h.startAs(sdk.Start{Stream: s, Run: newRun(), Position: 10, Cursor: newest}); err != nil {
		t.Fatal(err)
	}
	h.untilRows(33)
	h.wantCursors(fmt.Sprintf(`[10 {"twg":1,"epochs":[[%d,4],[%d,10]]} 20 {"twg":1,"epochs":[[%d,4],[%d,10],[%d,20]]}]`, first, second, first, second, b.epoch("t")))

	// A cursor that cannot be read costs a check, not the start.
	if err := h.startAs(sdk.Start{Stream: s, Run: newRun(), Position: 20, Cursor: []byte("?")}); err != nil {
		t.Fatal(err)
	}
	h.untilRows(34)
}

func (h *host) forgetCursors() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursors = nil
}

func (h *host) wantCursors(want string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var got []string
	for _, c := range h.cursors {
		got = append(got, fmt.Sprintf("%d %s", c.Position, c.Token))
	}
	if fmt.Sprint(got) != want {
		h.t.Errorf("cursors %v, want %s", got, want)
	}
}

// epoch is the leader epoch of partition 0.
func (b *broker) epoch(topic string) int32 {
	b.t.Helper()
	ts, err := b.admin.ListTopics(b.t.Context(), topic)
	if err != nil {
		b.t.Fatal(err)
	}
	return ts[topic].Partitions[0].LeaderEpoch
}

// moveLeader has another broker lead partition 0.
func (b *broker) moveLeader(topic string) {
	b.t.Helper()
	before := b.epoch(topic)
	b.poll("another leader", func() bool {
		b.ShufflePartitionLeaders()
		return b.epoch(topic) > before
	})
}

// TestDivergedAfterAStart: the log was cut while nobody read it. The cursor
// tells, and where the cut is; without a cursor nobody knows.
func TestDivergedAfterAStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		cursor history
		first  epochEnd // what the broker says of epoch 5
		older  epochEnd // of epoch 3
		want   int64
	}{
		{"the last epoch is cut", history{{3, 0}, {5, 40}}, epochEnd{5, 47}, epochEnd{}, 47},
		{"an epoch that was never read", history{{3, 0}, {5, 40}}, epochEnd{4, 60}, epochEnd{3, 30}, 30},
		{"what was read is whole", history{{3, 0}, {5, 40}}, epochEnd{4, 60}, epochEnd{3, 44}, 40},
		{"more than is known", history{{5, 40}}, epochEnd{2, 60}, epochEnd{}, 40},
		{"no cursor", nil, epochEnd{}, epochEnd{}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", nil)
			b.fill("t", 0, 0, 100)
			h, s := manual(t, b, b.settings("g", "t"))
			cutFetches(b, c.first)
			olderEnds(t, b, c.older)
			st := sdk.Start{Stream: s, Run: newRun(), Position: 50}
			if c.cursor != nil {
				st.Cursor = c.cursor.token()
			}
			if err := h.startAs(st); err != nil {
				t.Fatal(err)
			}
			if c.want < 0 {
				h.untilRows(50)
				return
			}
			h.until("a gap", func() bool { return len(h.gaps) == 1 })
			if g := h.gaps[0]; g.Wanted != 50 || g.Available != c.want || g.Cause != sdk.GapDiverged || g.Run != st.Run || h.count() != 0 {
				t.Errorf("gap %+v, %d rows, want the cut at %d", g, h.count(), c.want)
			}
		})
	}
}

// cutFetches answers a fetch from position 50 of epoch 5 with where that epoch
// ends by the log of now.
func cutFetches(b *broker, end epochEnd) {
	b.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := r.(*kmsg.FetchRequest)
		if p := req.Topics[0].Partitions[0]; p.LastFetchedEpoch != 5 || p.FetchOffset != 50 {
			return nil, nil, false
		}
		resp := emptyFetch(req, 100).(*kmsg.FetchResponse)
		d := &resp.Topics[0].Partitions[0].DivergingEpoch
		d.Epoch, d.EndOffset = end.epoch, end.end
		return resp, nil, true
	})
}

// olderEnds answers once, after a cut connection, where epoch 3 ends.
func olderEnds(t *testing.T, b *broker, end epochEnd) {
	failOnce := true
	b.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := r.(*kmsg.OffsetForLeaderEpochRequest)
		if failOnce {
			failOnce = false
			return nil, fmt.Errorf("cut the connection"), true
		}
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		if got := req.Topics[0].Partitions[0].LeaderEpoch; got != 3 {
			t.Errorf("asked for epoch %d, want 3", got)
		}
		rp.LeaderEpoch, rp.EndOffset = end.epoch, end.end
		rt.Topic, rt.Partitions = "t", append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

// TestKnownAs: all that is said about a run carries the name that its Start
// gave, and so does what is committed.
func TestKnownAs(t *testing.T) {
	for _, inc := range []string{"", "~1", "own~1", "own~12"} {
		t.Run("incarnation "+inc, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", nil)
			b.fill("t", 0, 0, 10)
			h, s := manual(t, b, b.settings("g", "t"))
			name := s
			name.Incarnation = strings.Replace(inc, "own", s.Incarnation, 1)
			committed := name.Incarnation
			run := newRun()
			if err := h.startAs(sdk.Start{Stream: s, KnownAs: name, Run: run, Position: 3}); err != nil {
				t.Fatal(err)
			}
			for _, r := range h.untilRows(7) {
				if r.stream != name {
					t.Fatalf("row of %s, want %s", r.stream, name)
				}
			}
			h.until("where it ends", func() bool { return h.ends[name] == 10 })
			if errs := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: name, Run: run, Next: 10}}); errs != nil {
				t.Fatal(errs)
			}
			if at, meta := b.committed("g", "t", 0); at != 10 || parseMetadata(meta).Incarnation != committed {
				t.Errorf("committed %d with %s, want 10 under %q", at, meta, committed)
			}
			h.close()
			h, _ = manual(t, b, b.settings("g", "t"))
			if _, meta := b.committed("g", "t", 0); (parseMetadata(meta).Topic == s.Incarnation) != (inc == "" || inc[0] == '~') {
				t.Errorf("metadata %s", meta)
			}
			if a := h.assigned[0]; a.Stream != s || a.Committed != 10 || a.CommittedIncarnation != committed || !a.Marked {
				t.Errorf("assigned %+v", a)
			}
		})
	}
}

// TestCommittedWithoutAName: a position of a stream that the host calls by no
// name is another topic's, if its topic was.
func TestCommittedWithoutAName(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.commitAs("g", "t", 7, metadata{Incarnation: "~1", Topic: "gone", Parts: 1}.String())
	h, s := manual(t, b, b.settings("g", "t"))
	if a := h.assigned[0]; a.CommittedIncarnation != "gone" {
		t.Errorf("assigned %+v", a)
	}
	h.close()
	b.commitAs("g", "t", 7, metadata{Incarnation: "~1", Topic: s.Incarnation, Parts: 1}.String())
	h, _ = manual(t, b, b.settings("g", "t"))
	if a := h.assigned[0]; a.CommittedIncarnation != "~1" {
		t.Errorf("assigned %+v", a)
	}
}

// TestMarkedIsOurs: what another program has committed does not count as ours.
func TestMarkedIsOurs(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.commitAs("g", "t", 5, "not ours")
	h, _ := manual(t, b, b.settings("g", "t"))
	if a := h.assigned[0]; a.Committed != 5 || a.Marked {
		t.Errorf("assigned %+v", a)
	}
	h.close()
	b.commitAs("g", "t", 6, metadata{Parts: 1}.String()) // by a source that knew no incarnation
	h, _ = manual(t, b, b.settings("g", "t"))
	if a := h.assigned[0]; a.Committed != 6 || !a.Marked || a.CommittedIncarnation != "" {
		t.Errorf("assigned %+v", a)
	}
}
