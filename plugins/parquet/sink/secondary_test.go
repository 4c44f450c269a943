package sink

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// A secondary gets spans without an epoch, in any order, again and again, from
// a live lane and from recovery at once, and with rows left out.

// TestLeftOutRowsOfASecondaryAreNotClaimed: a record that was rejected, and
// repaired later, must not be taken for one that is held.
func TestLeftOutRowsOfASecondaryAreNotClaimed(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	b := full(t, streamA, sdk.Epoch{}, 0, 10)
	b.Rows = []sdk.RowRange{{From: 0, To: 3}, {From: 5, To: 10}}
	seq := ses.write(b)
	ses.flush()
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatalf("%v, %v", got, ses.failed)
	}
	if got := heldBy(t, s); fmt.Sprint(got) != "[{0 3} {5 10}]" {
		t.Errorf("held: %v", got)
	}
	seq = ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	ses.flush()
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatalf("%v, %v", got, ses.failed)
	}
	got := positions(rows(t, m.Dir()))
	slices.Sort(got)
	if !slices.Equal(got, count(0, 10)) {
		t.Errorf("positions %v", got)
	}
}

func heldBy(t testing.TB, s *Sink) any {
	t.Helper()
	c, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})
	if err != nil {
		t.Fatal(err)
	}
	return c[0].Set.Held()
}

// A stream that was acquired is a gating sink's: who has no epoch is fenced,
// and is told what to do.
func TestSpanWithoutEpochOfAnAcquiredStreamIsFenced(t *testing.T) {
	s := newSink(t, disk.NewMem(), "")
	acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	seq := ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	ses.flush()
	r, _ := ses.wait(seq)
	if o := r.Outcomes[0]; o.Kind != sdk.Fenced || o.Reason == "" {
		t.Errorf("%+v", o)
	}
}

// secondaryModel is the model of a secondary's directory, which a live lane and
// a recovery host write.
type secondaryModel struct{ *model }

// write sends any span, with some rows left out.
func (m *secondaryModel) write(t *rapid.T, i int, s sdk.Stream) {
	p := m.proc(i)
	from := rapid.Int64Range(0, 20).Draw(t, "from")
	next := from + rapid.Int64Range(1, 8).Draw(t, "length")
	var recs []frame.Record
	for at := from; at < next; at++ {
		if delivered(at) {
			recs = append(recs, rec(at))
		}
	}
	b := batchOf(m.t, s, sdk.Epoch{}, from, next, recs...)
	if rapid.Bool().Draw(t, "leave out") {
		b.Rows = []sdk.RowRange{}
		for k := range recs {
			if rapid.Bool().Draw(t, "row") {
				b.Rows = append(b.Rows, sdk.RowRange{From: k, To: k + 1})
			}
		}
	}
	p.sent[p.ses.write(b)] = b
}

// flush waits for all answers. What was sent and answered is there; what was
// left out is not promised to be.
func (m *secondaryModel) flush(t *rapid.T, i int) {
	p := m.proc(i)
	p.ses.flush()
	for seq, b := range p.sent {
		switch got := p.ses.outcome(seq); got {
		case sdk.Durable:
			for _, r := range b.RowRanges() {
				for k := r.From; k < r.To; k++ {
					m.durable[place{b.Spans[0].Stream, b.Frame.Position(k)}] = true
				}
			}
		case sdk.Retryable:
		default:
			t.Fatalf("batch %d: %v, %v", seq, got, p.ses.failed)
		}
	}
	p.sent = map[uint64]*sdk.Batch{}
}

func TestSecondaryAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &secondaryModel{model: &model{t: t, m: disk.NewMem(), durable: map[place]bool{}, owner: map[sdk.Stream]int{}}}
		defer func() { m.kill(0); m.kill(1) }()
		who := func(rt *rapid.T) (int, sdk.Stream) {
			i := rapid.IntRange(0, 1).Draw(rt, "process")
			return i, []sdk.Stream{streamA, streamB}[rapid.IntRange(0, 1).Draw(rt, "stream")]
		}
		write := func(rt *rapid.T) { i, s := who(rt); m.write(rt, i, s) }
		rt.Repeat(map[string]func(*rapid.T){
			"write": write, "write 2": write, "write 3": write,
			"flush":       func(rt *rapid.T) { i, _ := who(rt); m.flush(rt, i) },
			"coverage":    func(rt *rapid.T) { i, _ := who(rt); m.coverage(rt, i) },
			"kill":        func(rt *rapid.T) { i, _ := who(rt); m.kill(i) },
			"new session": func(rt *rapid.T) { i, _ := who(rt); m.reopen(i) },
			"power cut": func(rt *rapid.T) {
				m.m.PowerCut(func(what string) bool { return rapid.Bool().Draw(rt, what) })
				m.kill(0)
				m.kill(1)
			},
			"": m.check,
		})
	})
}
