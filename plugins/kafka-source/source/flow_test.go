package source

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// manual is a host that starts and commits nothing by itself, with the one
// stream of topic t.
func manual(t *testing.T, b *broker, set Settings) (*host, sdk.Stream) {
	t.Helper()
	h := newHost(t)
	h.start, h.commit = false, false
	h.open(set)
	h.until("a stream", func() bool { return len(h.assigned) == 1 })
	return h, h.assigned[0].Stream
}

// TestGap is case 12: a position that is not there is told, after what was
// read before, and nothing is delivered until the host starts again.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		name              string
		start             int64
		wanted, available int64
	}{
		{"retention has removed it", 0, 0, 6},
		{"the log ends before it", 50, 50, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", nil)
			b.fill("t", 0, 0, 10)
			if err := b.DeleteRecords("t", 0, 6); err != nil {
				t.Fatal(err)
			}
			h, s := manual(t, b, b.settings("g", "t"))
			run := newRun()
			if err := h.startAt(s, run, c.start); err != nil {
				t.Fatal(err)
			}
			h.until("a gap", func() bool { return len(h.gaps) == 1 })
			g := h.gaps[0]
			if g.Stream != s || g.Run != run || g.Wanted != c.wanted || g.Available != c.available || g.Cause != sdk.GapOutOfRange || g.Reason == "" {
				t.Errorf("gap %+v, want %d and %d", g, c.wanted, c.available)
			}
			if h.count() != 0 {
				t.Error("rows were delivered past the gap")
			}
			if err := h.startAt(s, newRun(), 6); err != nil {
				t.Fatal(err)
			}
			if rows := h.untilRows(4); rows[0].position != 6 {
				t.Errorf("the first row is at %d, want 6", rows[0].position)
			}
			if len(h.gaps) != 1 {
				t.Errorf("gaps %v, want one", h.gaps)
			}
		})
	}
}

// TestGapWhileRunning: what was read before is delivered before the gap.
func TestGapWhileRunning(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(10)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.OffsetOutOfRange, Count: 1})
	b.fill("t", 0, 10, 10)
	// The log does reach there: it was a leader that was behind, no gap.
	h.untilRows(20)
	b.fill("t", 0, 20, 10)
	h.untilRows(30)
	if len(h.gaps) != 0 {
		t.Errorf("gaps %v where there is none", h.gaps)
	}
}

// TestDiverged: a broker that says that its log was cut.
func TestDiverged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(10)
	b.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := r.(*kmsg.FetchRequest)
		if p := req.Topics[0].Partitions[0]; p.FetchOffset != 10 || p.LastFetchedEpoch < 0 {
			return nil, nil, false
		}
		resp := emptyFetch(req, 20).(*kmsg.FetchResponse)
		resp.Topics[0].Partitions[0].DivergingEpoch.Epoch = 0
		resp.Topics[0].Partitions[0].DivergingEpoch.EndOffset = 4
		return resp, nil, true
	})
	h.until("a gap", func() bool { return len(h.gaps) == 1 })
	if g := h.gaps[0]; g.Wanted != 10 || g.Available != 4 || g.Cause != sdk.GapDiverged {
		t.Errorf("gap %+v, want the cut at 4", g)
	}
}

// TestDrop: nothing of a run after Drop has returned, and the stream can be
// started again anywhere.
func TestDrop(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 5000)
	set := b.settings("g", "t")
	set.PartitionMaxBytes, set.FetchMaxBytes = 16<<10, 64<<10 // many fetches
	h, s := manual(t, b, set)
	from := int64(0)
	for round := range 5 {
		run := newRun()
		if err := h.startAt(s, run, from); err != nil {
			t.Fatal(err)
		}
		h.until("some rows", func() bool { return h.runs[run].next > from+100 })
		if err := h.drop(t.Context(), []uint64{run}); err != nil { // later spans are a broken rule
			t.Fatal(err)
		}
		from = int64(round * 700)
	}
	last := newRun()
	if err := h.startAt(s, last, 4000); err != nil {
		t.Fatal(err)
	}
	h.untilAt("t", 0, 5000)
	for _, r := range h.got() {
		if want := fmt.Sprintf("value %d of partition 0", r.position); string(r.value) != want {
			t.Fatalf("row at %d is %q", r.position, r.value)
		}
	}
}

// TestStartRefuses what is not assigned, all or nothing.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h, s := manual(t, b, b.settings("g", "t"))
	other := s
	other.Partition = 9
	run := newRun()
	err := h.reader.Start(t.Context(), []sdk.Start{{Stream: s, Run: run}, {Stream: other, Run: newRun()}})
	if sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("start of a stream that is not assigned: %v, want it fenced", err)
	}
	if err := h.startAt(s, run, 5); err != nil {
		t.Errorf("the run was used by a Start that failed: %v", err)
	}
	if rows := h.untilRows(5); rows[0].position != 5 {
		t.Errorf("the first row is at %d, want 5", rows[0].position)
	}
	for _, st := range []sdk.Start{{Stream: s, Run: run, Position: 5}, {Stream: s, Run: newRun(), Position: -1}, {Stream: s, Run: newRun(), Position: sdk.MaxPosition}} {
		if err := h.reader.Start(t.Context(), []sdk.Start{st}); sdk.KindOf(err) != sdk.KindFatal {
			t.Errorf("start of run %d at %d: %v, want it fatal", st.Run, st.Position, err)
		}
	}
}

// TestNoCredit: a host that grants nothing for longer than the session
// timeout keeps its membership, and nothing more is fetched meanwhile.
func TestNoCredit(t *testing.T) {
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 100)
	set := b.settings("g", "t")
	set.SessionTimeout, set.Heartbeat = time.Second, 100*time.Millisecond
	h := newHost(t)
	h.credit = 1 // one frame overdraws it
	h.open(set)
	h.untilRows(100)
	member := b.GroupInfo("g").Members[0].MemberID
	beats := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Observe: true, Count: -1})
	fetches := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	b.fill("t", 0, 100, 100)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := beats.Wait(ctx, 15); err != nil { // more than the session timeout
		t.Fatal(err)
	}
	// One fetch may have been under way when the credit ended.
	if n := fetches.Hits(); n > 1 {
		t.Errorf("%d fetches without credit", n)
	}
	if g := b.GroupInfo("g"); len(g.Members) != 1 || g.Members[0].MemberID != member {
		t.Errorf("the members are %v, want %s still", g.Members, member)
	}
	if len(h.lost)+len(h.revoked) > 0 {
		t.Error("runs were taken away")
	}
	h.grant(64 << 20)
	h.untilRows(200)
	b.untilCommitted("g", "t", 0, 200)
}

// TestCreditBoundsPrefetch: what is asked for is no more than the credit
// leaves.
func TestCreditBoundsPrefetch(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(4, "t", nil)
	for p := range int32(4) {
		b.fill("t", p, 0, 4000)
	}
	const credit = 256 << 10
	var most int32
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		most = max(most, r.(*kmsg.FetchRequest).MaxBytes)
		return true
	}})
	h := newHost(t)
	h.credit, h.commit = credit, false
	h.limits.FrameBytes = 64 << 10
	h.open(b.settings("g", "t"))
	h.until("credit used up", func() bool { return h.credit <= 0 })
	if least := int64(-(64<<10 + frameSlack)); h.credit < least {
		t.Errorf("credit is %d, overdrawn by more than a frame", h.credit)
	}
	h.reader.Close(t.Context())
	b.Close()
	if most > credit {
		t.Errorf("a fetch asked for %d bytes with a credit of %d", most, credit)
	}
}

// TestLost: the group has thrown the member out. Its runs end, no commit of
// theirs is sent, and it joins again where the group's position is.
func TestLost(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 100)
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(100)
	b.untilCommitted("g", "t", 0, 100)
	s, run := h.assigned[0].Stream, h.got()[0].run
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, TopLevel: true, Err: kerr.UnknownMemberID, Count: 1})
	h.until("the loss", func() bool { return len(h.lost) == 1 && h.lost[0] == run })
	errs := h.reader.Commit(t.Context(), []sdk.Mark{{Stream: s, Run: run, Next: 50}})
	if errs == nil || sdk.KindOf(errs[0]) != sdk.KindFenced {
		t.Errorf("commit of a run that was lost: %v, want it fenced", errs)
	}
	b.fill("t", 0, 100, 10)
	if rows := h.untilRows(110); rows[100].position != 100 {
		t.Errorf("it went on at %d, want 100", rows[100].position)
	}
}

// TestBrokersMove: leaders and coordinators move, connections break; every
// record comes once and in order.
func TestBrokersMove(t *testing.T) {
	t.Parallel()
	b := newBroker(t, kfake.NumBrokers(3))
	b.create(6, "t", nil)
	h := newHost(t).open(b.settings("g", "t"))
	total := 0
	for round := range 6 {
		for p := range int32(6) {
			b.fill("t", p, round*50, 50)
			total += 50
		}
		h.untilRows(total)
		b.ShufflePartitionLeaders()
		b.RehashCoordinators()
		b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("cut the connection"), true
		})
	}
	for p := range int32(6) {
		b.untilCommitted("g", "t", p, 300)
	}
	if n := h.count(); n != total {
		t.Errorf("%d rows, want %d", n, total)
	}
}
