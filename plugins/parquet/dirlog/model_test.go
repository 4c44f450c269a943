package dirlog

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// The model: processes that open the log, acquire, commit, record and read,
// die at any step of these, and a machine that loses power. Against it stands
// a reader that knows nothing but the rules of docs/storage.md.

const modelPositions = 12

var modelStreams = []sdk.Stream{streamA, streamB}

// cell is a position of a stream.
type cell struct {
	s sdk.Stream
	p int64
}

// dumb is what the files in a directory say, read in the simplest way.
type dumb struct {
	held, void map[cell]bool
	epochs     map[sdk.Stream]sdk.Epoch
	last       uint64
}

func newDumb() *dumb {
	return &dumb{map[cell]bool{}, map[cell]bool{}, map[sdk.Stream]sdk.Epoch{}, 0}
}

func cells(s sdk.Stream, i coverage.Interval) (out []cell) {
	for p := i.From; p < i.Next; p++ {
		out = append(out, cell{s, p})
	}
	return out
}

// readDumb reads the log; anything that breaks a rule is an error. Commits are
// removed the oldest first, so one may be missing before others only if gaps:
// the power went, and some removals had reached the disk and others not. Then a
// later checkpoint has to stand for all that is before it.
func readDumb(m *disk.Mem, gaps bool) (*dumb, error) {
	names, _ := m.Dir().List()
	var ns []uint64
	for _, name := range names {
		if n, ok, _ := linklog.Number(name, suffix); ok {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	d, begun, rows := newDumb(), false, map[cell]bool{}
	for k, n := range ns {
		b := m.Bytes(FileName(n))
		f, err := footer.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, fmt.Errorf("INV7: commit %d: %w", n, err)
		}
		if k > 0 && n != ns[k-1]+1 {
			if !gaps {
				return nil, fmt.Errorf("commit %d is missing", n-1)
			}
			d, begun = newDumb(), false
		}
		for _, s := range f.Spans {
			for _, c := range cells(s.Stream, s.Interval) {
				rows[c] = rows[c] || f.Kind != footer.Checkpoint
			}
		}
		if begun = begun || n == 1 || f.Kind == footer.Checkpoint; !begun {
			continue // pruned before it
		}
		if err := d.apply(n, f); err != nil {
			return nil, fmt.Errorf("commit %d (%s): %w", n, f.Kind, err)
		}
	}
	if !begun && len(ns) > 0 {
		return nil, fmt.Errorf("commits up to %d: some are missing, and no checkpoint follows", ns[len(ns)-1])
	}
	for c := range d.held {
		if !rows[c] {
			return nil, fmt.Errorf("INV7: %v is held, and no file has it", c)
		}
	}
	return d, nil
}

func (d *dumb) apply(n uint64, f *footer.Footer) error {
	switch f.Kind {
	case footer.Checkpoint:
		c := newDumb()
		if err := c.add(f); err != nil {
			return err
		}
		if d.last > 0 && (!c.follows(d) || fmt.Sprint(c.epochs) != fmt.Sprint(d.epochs)) {
			return fmt.Errorf("it says %v, the commits before it %v", c, d)
		}
		*d = *c
	case footer.Acquire:
		for _, e := range f.Epochs {
			if e.Number != d.epochs[e.Stream].Number+1 {
				return fmt.Errorf("epoch %d of %s follows %d", e.Number, e.Stream, d.epochs[e.Stream].Number)
			}
		}
		fallthrough
	default:
		if f.Kind != footer.Acquire {
			if err := d.owns(f); err != nil {
				return err
			}
		}
		if err := d.add(f); err != nil {
			return err
		}
	}
	d.last = n
	return nil
}

// follows: a checkpoint says what the commits before it say, but for what was
// held and is pruned.
func (c *dumb) follows(d *dumb) bool {
	for x := range d.held {
		if !c.held[x] && !c.void[x] {
			return false
		}
	}
	for x := range d.void {
		if !c.void[x] {
			return false
		}
	}
	for x := range c.held {
		if !d.held[x] {
			return false
		}
	}
	for x := range c.void {
		if !d.void[x] && (!d.held[x] || c.held[x]) {
			return false
		}
	}
	return true
}

// owns: INV6, each write is under the current epoch.
func (d *dumb) owns(f *footer.Footer) error {
	under := map[sdk.Stream]sdk.Epoch{}
	for _, e := range f.Epochs {
		under[e.Stream] = e.Epoch
	}
	for _, s := range f.Spans {
		if under[s.Stream] != d.epochs[s.Stream] {
			return fmt.Errorf("INV6: %s was written under epoch %v, the current one is %v", s.Stream, under[s.Stream], d.epochs[s.Stream])
		}
	}
	return nil
}

func (d *dumb) add(f *footer.Footer) error {
	for _, s := range f.Spans {
		for _, c := range cells(s.Stream, s.Interval) {
			if d.held[c] {
				return fmt.Errorf("INV7: %v is held twice", c)
			}
			d.held[c] = true
		}
	}
	for _, v := range f.Voids {
		for _, c := range cells(v.Stream, v.Interval) {
			d.void[c] = true
		}
	}
	for _, e := range f.Epochs {
		d.epochs[e.Stream] = e.Epoch
	}
	return nil
}

// world is one run of the model.
type world struct {
	m     *disk.Mem
	procs []*proc
	told  *dumb // what somebody was told is durable; only held and void
	tried map[cell]bool
	below map[sdk.Stream]int64 // the highest that somebody asked to prune
	cut   bool                 // the power went
	fuse  int                  // operations until the process that acts dies; negative: none
}

type proc struct {
	log    *Log
	dir    *disk.MemDir
	epochs map[sdk.Stream]sdk.Epoch
}

func (w *world) fail(string, string) error {
	if w.fuse < 0 {
		return nil
	}
	if w.fuse--; w.fuse >= 0 {
		return nil
	}
	w.fuse = 0
	return disk.ErrKilled
}

func (w *world) boot() *proc {
	dir := w.m.Dir()
	p := &proc{dir: dir, epochs: map[sdk.Stream]sdk.Epoch{}}
	l, err := Open(context.Background(), dir)
	if err != nil {
		return nil // it died on the way
	}
	l.log.Every = 4
	p.log = l
	return p
}

func (w *world) pick(t *rapid.T) (int, *proc) {
	i := rapid.IntRange(0, len(w.procs)-1).Draw(t, "process")
	if w.procs[i] == nil {
		w.procs[i] = w.boot()
	}
	return i, w.procs[i]
}

// dumb reads the log outside of any process.
func (w *world) dumb(t *rapid.T) *dumb {
	fuse := w.fuse
	w.fuse = -1
	defer func() { w.fuse = fuse }()
	d, err := readDumb(w.m, w.cut)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// act lets a process do something, and die in it at some step or not at all.
func (w *world) act(t *rapid.T, do func(p *proc, s sdk.Stream) error) {
	w.fuse = -1
	if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
		w.fuse = rapid.IntRange(0, 14).Draw(t, "step")
	}
	i, p := w.pick(t)
	var err error
	if p != nil {
		s := modelStreams[rapid.IntRange(0, 1).Draw(t, "stream")]
		if err = do(p, s); err != nil && w.fuse < 0 && p.log.Broken() == nil && sdk.KindOf(err) != sdk.KindFenced {
			t.Fatalf("an error without a fault: %v", err)
		}
	}
	if p != nil && (w.fuse == 0 || p.log.Broken() != nil) {
		p.dir.Kill()
		p = nil
	}
	w.procs[i], w.fuse = p, -1
}

func (w *world) acquire(p *proc, s sdk.Stream) error {
	a, err := p.log.Acquire(context.Background(), "p", []sdk.Stream{s})
	if err == nil {
		p.epochs[s] = a[0].Epoch
	}
	return err
}

func (w *world) commit(t *rapid.T, p *proc, s sdk.Stream, in coverage.Interval) error {
	before := w.dumb(t)
	for _, i := range p.log.Missing(s, in) {
		for _, c := range cells(s, i) {
			w.tried[c] = true
		}
		rb, err := commit(p.log, s, p.epochs[s], i.From, i.Next)
		if err != nil {
			return err
		}
		if rb == nil {
			w.tell(s, i)
			continue
		}
		if current := before.epochs[s] == p.epochs[s]; current == (len(rb.Fenced) > 0) {
			t.Fatalf("epoch is current: %v; rolled back with %+v", current, rb)
		}
	}
	return nil
}

func (w *world) tell(s sdk.Stream, i coverage.Interval) {
	for _, c := range cells(s, i) {
		w.told.held[c] = true
	}
}

func (w *world) coverage(p *proc, s sdk.Stream) error {
	c, err := p.log.Coverage(context.Background(), []sdk.Stream{s})
	if err != nil {
		return err
	}
	for _, i := range c[0].Set.Held() {
		w.tell(s, i)
	}
	for _, v := range c[0].Set.Voids() {
		for _, c := range cells(s, v.Interval) {
			w.told.void[c] = true
		}
	}
	return nil
}

func (w *world) record(p *proc, s sdk.Stream, in coverage.Interval) error {
	return p.log.Record(context.Background(), []sdk.CoverageRecord{{Stream: s, Epoch: p.epochs[s],
		Void: []coverage.Void{{Interval: in, Reason: coverage.Retention}}}})
}

// prune prunes the beginning of a stream.
func (w *world) prune(t *rapid.T, p *proc, s sdk.Stream) error {
	below := rapid.Int64Range(0, modelPositions).Draw(t, "below")
	before := w.dumb(t)
	dry := rapid.IntRange(0, 4).Draw(t, "dry") == 0
	if !dry {
		w.below[s] = max(w.below[s], below)
	}
	got, err := p.log.Prune(context.Background(), []sdk.Prune{{Stream: s, Below: below}}, dry)
	if err != nil {
		return err
	}
	after := w.dumb(t)
	if dry && (fmt.Sprint(after.held) != fmt.Sprint(before.held)) {
		t.Fatal("a dry run changed something")
	}
	for c := range after.held {
		if !dry && c.s == s && c.p < got[0].RawFloor {
			t.Fatalf("the raw floor is %d and %v is held", got[0].RawFloor, c)
		}
	}
	for x := int64(0); x < got[0].RawFloor; x++ {
		if c := (cell{s, x}); !before.held[c] && !before.void[c] {
			t.Fatalf("the raw floor is %d, above the hole at %v", got[0].RawFloor, c)
		}
		if !dry {
			w.told.void[cell{s, x}] = true
		}
	}
	return w.checkFiles(t, s, got[0].RawFloor, dry)
}

// checkFiles: after a Prune no file has anything below the floor.
func (w *world) checkFiles(t *rapid.T, s sdk.Stream, floor int64, dry bool) error {
	fuse := w.fuse
	w.fuse = -1
	names, _ := w.m.Dir().List()
	w.fuse = fuse
	for _, name := range names {
		b := w.m.Bytes(name)
		f, err := footer.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || linklog.IsTemp(name) || f.Kind == footer.Checkpoint || dry {
			continue
		}
		for _, x := range f.Spans {
			if x.Stream == s && x.From < floor {
				t.Fatalf("the raw floor is %d, and %s holds [%d,%d)", floor, name, x.From, x.Next)
			}
		}
	}
	return nil
}

func (w *world) powerCut(t *rapid.T) {
	w.m.PowerCut(func(what string) bool { return rapid.Bool().Draw(t, what) })
	w.cut = true
	for i := range w.procs {
		w.procs[i] = nil
	}
}

// check compares with the dumb reader after every step.
func (w *world) check(t *rapid.T) {
	d := w.dumb(t)
	for c := range w.told.held {
		if !d.held[c] && !(d.void[c] && c.p < w.below[c.s]) {
			t.Fatalf("INV8: %v was told to be held, and is not", c)
		}
	}
	for c := range w.told.void {
		if !d.void[c] {
			t.Fatalf("INV8: %v was told to be void, and is not", c)
		}
	}
	for c := range d.held {
		if !w.tried[c] {
			t.Fatalf("%v is held and was never written", c)
		}
	}
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{m: disk.NewMem(), procs: make([]*proc, 3), told: newDumb(), tried: map[cell]bool{}, below: map[sdk.Stream]int64{}, fuse: -1}
		w.m.Fail = w.fail
		interval := func(t *rapid.T) coverage.Interval {
			from := rapid.Int64Range(0, modelPositions-1).Draw(t, "from")
			return coverage.Interval{From: from, Next: from + rapid.Int64Range(1, 3).Draw(t, "length")}
		}
		commit := func(t *rapid.T) {
			in := interval(t)
			w.act(t, func(p *proc, s sdk.Stream) error { return w.commit(t, p, s, in) })
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire":  func(t *rapid.T) { w.act(t, w.acquire) },
			"commit":   commit,
			"commit 2": commit,
			"coverage": func(t *rapid.T) { w.act(t, w.coverage) },
			"record": func(t *rapid.T) {
				in := interval(t)
				w.act(t, func(p *proc, s sdk.Stream) error { return w.record(p, s, in) })
			},
			"prune": func(t *rapid.T) {
				w.act(t, func(p *proc, s sdk.Stream) error { return w.prune(t, p, s) })
			},
			"power cut": w.powerCut,
			"":          w.check,
		})
	})
}
