package pipeline

import (
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// What still waits in the queue is not the sink's to answer, and a Flush would
// overtake it. The loop is told once enough is taken.
func TestWhatTheSinkHasGot(t *testing.T) {
	told := 0
	s := newSession(1, nil, func(*sdk.Batch) int64 { return 10 }, func() { told++ })
	for seq := range uint64(5) {
		s.push(&sdk.Batch{Seq: seq + 1})
	}
	pop := func(want int) {
		t.Helper()
		s.pop(t.Context())
		if told != want {
			t.Errorf("after batch %d the loop was told %d times, want %d", s.taken(), told, want)
		}
	}
	s.tookAt = time.Now()
	if s.isBelow(-5) || s.isBelow(0) {
		t.Error("with less than half of the budget nothing is due")
	}
	if s.isBelow(30) {
		t.Error("50 wait: that is not below 30")
	}
	pop(0)
	pop(0)
	pop(1)
	if !s.isBelow(30) || s.taken() != 3 {
		t.Errorf("batch %d is taken, 20 wait", s.taken())
	}
	pop(1)
	if s.tookAt = s.tookAt.Add(-2 * blocked); !s.isBelow(5) {
		t.Error("a writer that is blocked does not count")
	}
}

// A batch that is answered without being asked needs no Flush; one that a Flush
// asked about is not counted twice.
func TestUnasked(t *testing.T) {
	o := &outbound{ses: newSession(1, nil, nil, nil), lastSeq: 4, sent: map[uint64]*sending{}, unasked: unasked{first: 1}}
	at := time.Now()
	for seq := uint64(1); seq <= 4; seq++ {
		o.sent[seq] = &sending{at: at.Add(time.Duration(seq) * time.Hour), charge: 10}
		o.unasked.charge += 10
	}
	answer := func(seq uint64) { delete(o.sent, seq); o.unasked.answered(seq, 10) }
	want := func(charge int64, oldest int) {
		t.Helper()
		if o.unasked.charge != charge || charge > 0 && !o.oldestUnasked().Equal(at.Add(time.Duration(oldest)*time.Hour)) {
			t.Errorf("%d unasked since %s, want %d", o.unasked.charge, o.oldestUnasked(), charge)
		}
	}
	want(40, 1)
	answer(1)
	want(30, 2)
	o.flush(3)
	want(10, 4)
	answer(2)
	want(10, 4)
	answer(4)
	want(0, 0)
}
