package lanes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// The model: processes that record, plan, claim, renew and complete, die at
// any step of it, and a machine that loses power. Against it stands a reader
// that applies the files in order, and a memory of what somebody was told.

const modelPositions = 16

var modelStreams = []sdk.Stream{streamA, streamB}

type cell struct {
	k key
	p int64
}

// lease is a claim that somebody was told of.
type lease struct{ id, fence uint64 }

type world struct {
	m     *disk.Mem
	procs []*proc
	fuse  int // operations until the process that acts dies; negative: none

	held, tried map[cell]bool // told, and asked for
	floors      map[key][2]int64
	planned     map[uint64]sdk.RecoveryWindow // told, and nobody tried to end it
	ids         map[uint64]bool               // told
	leases      map[lease]*proc
	ended       map[lease]bool // completed
}

type proc struct {
	*Store
	dir *disk.MemDir
	has map[lease]sdk.RecoveryWindow // its claims, also those that another has by now
}

func newWorld() *world {
	w := &world{m: disk.NewMem(), procs: make([]*proc, 3), fuse: -1, held: map[cell]bool{}, tried: map[cell]bool{},
		floors: map[key][2]int64{}, planned: map[uint64]sdk.RecoveryWindow{}, ids: map[uint64]bool{}, leases: map[lease]*proc{}, ended: map[lease]bool{}}
	w.m.Fail = func(string, string) error {
		if w.fuse < 0 {
			return nil
		}
		if w.fuse--; w.fuse >= 0 {
			return nil
		}
		w.fuse = 0
		return disk.ErrKilled
	}
	return w
}

// dumb applies the files in the simplest way, and makes nothing durable.
func (w *world) dumb() (*state, error) {
	fuse := w.fuse
	w.fuse = -1
	defer func() { w.fuse = fuse }()
	dir, err := w.m.Dir().Sub("_twg")
	if err != nil {
		return nil, err
	}
	names, _ := dir.List()
	slices.Sort(names)
	st := newState()
	last := uint64(0)
	for _, name := range names {
		n, ok, err := linklog.Number(name, suffix)
		if err != nil || !ok {
			continue
		}
		b := w.m.Bytes("_twg/" + name)
		e, err := decode(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if e.checkpoint {
			*st = *newState()
		} else if last == 0 && n > 1 {
			continue // what a removal that was cut short has left below a checkpoint
		} else if n != last+1 {
			return nil, fmt.Errorf("commit %d follows %d, and is no checkpoint", n, last)
		}
		if err := (holder{st}).Apply(e); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		last = n
	}
	if last == 0 && len(names) > 0 && !linklog.IsTemp(names[len(names)-1]) {
		return nil, fmt.Errorf("no checkpoint below %s", names[len(names)-1])
	}
	return st, nil
}

// act lets a process do something, and die in it at some step or not at all.
func (w *world) act(t *rapid.T, do func(p *proc) error) {
	w.fuse = -1
	if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
		w.fuse = rapid.IntRange(0, 14).Draw(t, "step")
	}
	i := rapid.IntRange(0, len(w.procs)-1).Draw(t, "process")
	if w.procs[i] == nil {
		s, dir := process(w.m)
		s.every = 3
		w.procs[i] = &proc{s, dir, map[lease]sdk.RecoveryWindow{}}
	}
	p := w.procs[i]
	err := do(p)
	if w.fuse == 0 {
		p.dir.Kill()
		w.procs[i] = nil
	} else if err != nil && sdk.KindOf(err) != sdk.KindFenced && sdk.KindOf(err) != sdk.KindRejected {
		t.Fatalf("an error without a fault: %v", err)
	}
	w.fuse = -1
}

func drawKey(t *rapid.T) key {
	return key{[]string{lane, "second"}[rapid.IntRange(0, 1).Draw(t, "lane")], modelStreams[rapid.IntRange(0, 1).Draw(t, "stream")]}
}

func drawSpan(t *rapid.T) coverage.Interval {
	from := rapid.Int64Range(0, modelPositions-1).Draw(t, "from")
	return span(from, from+rapid.Int64Range(1, 4).Draw(t, "length"))
}

func (w *world) record(t *rapid.T, p *proc) error {
	k, in, aside := drawKey(t), drawSpan(t), drawSpan(t)
	floor := rapid.Int64Range(0, modelPositions).Draw(t, "floor")
	for at := in.From; at < in.Next; at++ {
		w.tried[cell{k, at}] = true
	}
	f := w.floors[k]
	w.floors[k] = [2]int64{f[0], max(f[1], floor)}
	err := p.Record(context.Background(), k.lane, []sdk.CoverageRecord{{Stream: k.stream, Held: []coverage.Interval{in}, SetAside: []coverage.Interval{aside}, LiveFloor: floor}})
	if err == nil {
		w.floors[k] = [2]int64{max(f[0], floor), w.floors[k][1]}
		for at := in.From; at < in.Next; at++ {
			w.held[cell{k, at}] = true
		}
	}
	for id, x := range w.planned {
		if x.State == sdk.WindowUnrecoverable {
			delete(w.planned, id) // it may be withdrawn
		}
	}
	return err
}

func (w *world) plan(t *rapid.T, p *proc) error {
	k := drawKey(t)
	var ws []sdk.RecoveryWindow
	for range rapid.IntRange(1, 3).Draw(t, "windows") {
		in := drawSpan(t)
		x := window(k.stream, in.From, in.Next)
		if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
			x.State = sdk.WindowUnrecoverable
		}
		ws = append(ws, x)
	}
	out, err := p.PlanWindows(context.Background(), k.lane, ws)
	for _, x := range out {
		if w.ids[x.ID] {
			t.Fatalf("id %d is given again", x.ID)
		}
		w.ids[x.ID], w.planned[x.ID] = true, x
	}
	return err
}

// claim takes what is open, or what it has watched expire.
func (w *world) claim(t *rapid.T, p *proc) error {
	c := sdk.WindowClaim{Lane: drawKey(t).lane, Holder: "p"}
	ws, err := p.Windows(context.Background(), c.Lane)
	for _, x := range ws {
		w.ids[x.ID] = true
	}
	if err == nil && len(ws) > 0 && rapid.Bool().Draw(t, "by version") {
		x := ws[rapid.IntRange(0, len(ws)-1).Draw(t, "which")]
		c.ID, c.LeaseVersion = x.ID, x.LeaseVersion
	}
	other := slices.IndexFunc(w.procs, func(q *proc) bool { return q != nil && q != p && q.lock != nil })
	x, err := p.ClaimWindow(context.Background(), c)
	if other >= 0 {
		if err == nil {
			t.Fatal("a second recovery host has a claim")
		}
		return sdk.Errorf(sdk.KindRejected, "", "%w", err)
	}
	if err != nil || x == nil {
		return err
	}
	l := lease{x.ID, x.Fence}
	if w.leases[l] != nil {
		t.Fatalf("two claims of window %d have fence %d", x.ID, x.Fence)
	}
	w.leases[l], p.has[l] = p, *x
	return nil
}

func (w *world) renew(t *rapid.T, p *proc) error {
	x, ok := anyOf(t, p.has)
	if !ok {
		return nil
	}
	before, _ := w.dumb()
	_, err := p.RenewWindow(context.Background(), x.ID, x.Fence)
	return w.fencing(t, before, x, err)
}

func anyOf(t *rapid.T, ws map[lease]sdk.RecoveryWindow) (sdk.RecoveryWindow, bool) {
	ls := slices.SortedFunc(maps.Keys(ws), func(a, b lease) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.fence, b.fence)) })
	if len(ls) == 0 {
		return sdk.RecoveryWindow{}, false
	}
	return ws[ls[rapid.IntRange(0, len(ls)-1).Draw(t, "window")]], true
}

// fencing: INV6. A call passes if and only if its fence is the window's.
func (w *world) fencing(t *rapid.T, before *state, x sdk.RecoveryWindow, err error) error {
	now := before.windows[x.ID]
	own := now != nil && now.State == sdk.WindowClaimed && now.Fence == x.Fence
	if w.fuse != 0 && own == (sdk.KindOf(err) == sdk.KindFenced) {
		t.Fatalf("INV6: window %d is %+v, and a call with fence %d gives %v", x.ID, now, x.Fence, err)
	}
	return err
}

func (w *world) complete(t *rapid.T, p *proc) error {
	x, ok := anyOf(t, p.has)
	if !ok {
		return nil
	}
	k := key{x.Lane, x.Stream}
	c := sdk.WindowCompletion{ID: x.ID, Fence: x.Fence}
	before, _ := w.dumb()
	for _, h := range before.part(k).set.HeldWithin(span(x.From, x.Next)) {
		if rapid.Bool().Draw(t, "done") {
			c.Done = append(c.Done, h)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
		c.Unrecoverable = []coverage.Interval{drawSpan(t)}
	}
	delete(w.planned, x.ID)
	err := p.CompleteWindow(context.Background(), c, coverageOf(0, modelPositions+4))
	if err == nil {
		l := lease{x.ID, x.Fence}
		if w.ended[l] {
			t.Fatalf("INV6: window %d was completed twice under fence %d", x.ID, x.Fence)
		}
		w.ended[l] = true
	}
	return w.fencing(t, before, x, err)
}

func coverageOf(from, next int64) *coverage.Set {
	s := &coverage.Set{}
	s.AddHeld(span(from, next))
	return s
}

func (w *world) read(t *rapid.T, p *proc) error {
	k := drawKey(t)
	c, err := p.Coverage(context.Background(), k.lane, []sdk.Stream{k.stream})
	if err != nil {
		return err
	}
	for _, i := range c[0].Set.Held() {
		for at := i.From; at < i.Next; at++ {
			w.held[cell{k, at}] = true
		}
	}
	f, err := p.LiveFloors(context.Background(), k.lane, []sdk.Stream{k.stream})
	if err == nil {
		w.floors[k] = [2]int64{max(w.floors[k][0], f[0]), w.floors[k][1]}
	}
	return err
}

func (w *world) powerCut(t *rapid.T) {
	w.m.PowerCut(func(what string) bool { return rapid.Bool().Draw(t, what) })
	for i := range w.procs {
		w.procs[i] = nil
	}
}

// check compares the files with what was told.
func (w *world) check(t *rapid.T) {
	st, err := w.dumb()
	if err != nil {
		t.Fatal(err)
	}
	for c := range w.held {
		if len(st.part(c.k).set.Missing(span(c.p, c.p+1))) > 0 {
			t.Fatalf("INV8: %v was told to be held, and is not", c)
		}
	}
	for k, p := range st.parts {
		for _, i := range p.set.Held() {
			for at := i.From; at < i.Next; at++ {
				if !w.tried[cell{k, at}] {
					t.Fatalf("%d of %v is held and was never recorded", at, k)
				}
			}
		}
		if f := w.floors[k]; p.floor < f[0] || p.floor > f[1] {
			t.Fatalf("live floor of %v is %d, told %d and asked for %d", k, p.floor, f[0], f[1])
		}
	}
	w.checkWindows(t, st)
}

func (w *world) checkWindows(t *rapid.T, st *state) {
	taken := map[key]*coverage.Set{}
	for _, x := range st.windows {
		k := key{x.Lane, x.Stream}
		if taken[k] == nil {
			taken[k] = &coverage.Set{}
		}
		if len(taken[k].HeldWithin(span(x.From, x.Next))) > 0 {
			t.Fatalf("windows of %v overlap at [%d,%d)", k, x.From, x.Next)
		}
		taken[k].AddHeld(span(x.From, x.Next))
	}
	for id := range w.planned {
		if st.windows[id] == nil {
			t.Fatalf("window %d was planned, nobody ended it, and it is gone", id)
		}
	}
	for l := range w.leases {
		if x := st.windows[l.id]; x != nil && x.Fence < l.fence {
			t.Fatalf("window %d was claimed with fence %d and has %d", l.id, l.fence, x.Fence)
		}
	}
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		do := func(f func(*rapid.T, *proc) error) func(*rapid.T) {
			return func(t *rapid.T) { w.act(t, func(p *proc) error { return f(t, p) }) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"record": do(w.record), "record 2": do(w.record),
			"plan": do(w.plan), "plan 2": do(w.plan),
			"claim": do(w.claim), "claim 2": do(w.claim),
			"renew": do(w.renew), "complete": do(w.complete), "complete 2": do(w.complete),
			"read":      do(w.read),
			"power cut": w.powerCut,
			"":          w.check,
		})
	})
}
