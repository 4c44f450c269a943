package ackgate

import (
	"slices"
	"testing"

	"github.com/twg-io/twg/sdk"
	"pgregory.net/rapid"
)

// model is a deliberately dumb gate: it marks every single position.
type model struct {
	record  bool
	live    map[uint64]*modelRun
	batches map[uint64][]sdk.Span
}

type modelRun struct {
	start, tail int64
	durable     map[int64]bool
	order       []uint64 // batches, in Track's order
}

func (m *model) spanDone(s sdk.Span) bool {
	r, ok := m.live[s.Run]
	if !ok {
		return true
	}
	for p := s.From; p < s.Next; p++ {
		if !r.durable[p] {
			return false
		}
	}
	return true
}

func (m *model) frontier(run uint64) int64 {
	r := m.live[run]
	at := r.start
	for _, id := range r.order {
		whole := true
		var mine sdk.Span
		for _, s := range m.batches[id] {
			whole = whole && m.spanDone(s)
			if s.Run == run {
				mine = s
			}
		}
		if m.record {
			for at < mine.Next && r.durable[at] {
				at++
			}
			if at < mine.Next {
				return at
			}
			continue
		}
		if !whole {
			return at
		}
		at = mine.Next
	}
	return at
}

type machine struct {
	g       *Gate
	m       *model
	nextRun uint64
	nextID  uint64
	last    map[uint64]int64 // the newest position that Ready gave out, by run
}

func (x *machine) runs() []uint64 {
	var ids []uint64
	for _, s := range x.g.Runs(nil) {
		ids = append(ids, s.Run)
	}
	return ids
}

func (x *machine) start(t *rapid.T) {
	x.nextRun++
	at := rapid.Int64Range(0, 5).Draw(t, "at")
	gran := sdk.GranularityBatch
	if x.m.record {
		gran = sdk.GranularityRecord
	}
	if _, err := x.g.Start(x.nextRun, stream(int(x.nextRun)), at, at, gran); err != nil {
		t.Fatal(err)
	}
	x.m.live[x.nextRun] = &modelRun{start: at, tail: at, durable: map[int64]bool{}}
	x.last[x.nextRun] = at
}

func (x *machine) track(t *rapid.T) {
	ids := x.runs()
	if len(ids) == 0 {
		return
	}
	pick := rapid.Permutation(ids).Draw(t, "runs")[:rapid.IntRange(1, min(3, len(ids))).Draw(t, "spans")]
	x.nextID++
	var spans []sdk.Span
	for _, id := range pick {
		r := x.m.live[id]
		s := span(id, r.tail, r.tail+rapid.Int64Range(0, 4).Draw(t, "len"))
		r.tail = s.Next
		r.order = append(r.order, x.nextID)
		spans = append(spans, s)
	}
	x.m.batches[x.nextID] = spans
	if err := x.g.Track(x.nextID, spans); err != nil {
		t.Fatal(err)
	}
}

// receipt answers a part of some batch, old and answered ones too.
func (x *machine) receipt(t *rapid.T) {
	if x.nextID == 0 {
		return
	}
	id := rapid.Uint64Range(1, x.nextID).Draw(t, "batch")
	s := rapid.SampledFrom(x.m.batches[id]).Draw(t, "span")
	from := rapid.Int64Range(s.From, s.Next).Draw(t, "from")
	o := durable(s.Run, from, rapid.Int64Range(from, s.Next).Draw(t, "next"))
	o.Kind = rapid.SampledFrom([]sdk.OutcomeKind{sdk.Durable, sdk.Durable, sdk.Retryable, sdk.Fenced, sdk.Rejected}).Draw(t, "kind")
	if o.Kind == sdk.Rejected && o.From < o.Next {
		for _, p := range rapid.SliceOfN(rapid.Int64Range(o.From, o.Next-1), 0, 3).Draw(t, "rejected") { // in any order
			o.Rejected = append(o.Rejected, sdk.RejectedRow{Position: p})
		}
	}
	if err := x.g.Complete(id, []sdk.Outcome{o}); err != nil {
		t.Fatal(err)
	}
	r, ok := x.m.live[s.Run]
	if !ok || o.Kind != sdk.Durable && (o.Kind != sdk.Rejected || len(o.Rejected) == 0) {
		return
	}
	for p := o.From; p < o.Next; p++ {
		if !slices.ContainsFunc(o.Rejected, func(x sdk.RejectedRow) bool { return x.Position == p }) {
			r.durable[p] = true
		}
	}
}

func (x *machine) forget(t *rapid.T) {
	if ids := x.runs(); len(ids) > 0 {
		id := rapid.SampledFrom(ids).Draw(t, "forget")
		x.g.Forget(id)
		delete(x.m.live, id)
	}
}

func (x *machine) commit(t *rapid.T) {
	for _, c := range x.g.Ready(nil) {
		if c.Next() < x.last[c.Run()] {
			t.Fatalf("run %d: committable went back from %d to %d", c.Run(), x.last[c.Run()], c.Next())
		}
		x.last[c.Run()] = c.Next()
		if rapid.Bool().Draw(t, "stored") {
			x.g.Committed(c)
		} else {
			x.g.Failed(c)
		}
	}
}

func (x *machine) check(t *rapid.T) {
	for id, r := range x.m.live {
		s, ok := x.g.Run(id)
		if !ok {
			t.Fatalf("run %d is gone", id)
		}
		if want := x.m.frontier(id); s.Frontier != want || s.Tail != r.tail {
			t.Fatalf("run %d: [%d,%d), the model says [%d,%d)", id, s.Frontier, s.Tail, want, r.tail)
		}
	}
}

// INV2 under random spans, receipts in any order and in parts, failures,
// repeated answers, and runs that end and begin.
func TestGateAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &machine{g: New(), last: map[uint64]int64{}, m: &model{
			record: rapid.Bool().Draw(t, "record"), live: map[uint64]*modelRun{}, batches: map[uint64][]sdk.Span{}}}
		t.Repeat(map[string]func(*rapid.T){
			"start": x.start, "track": x.track, "track2": x.track, "receipt": x.receipt, "receipt2": x.receipt,
			"receipt3": x.receipt, "forget": x.forget, "commit": x.commit, "": x.check,
		})
	})
}
