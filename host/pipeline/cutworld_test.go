package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// cutWorld is a server with one stream whose log can be cut and filled anew,
// which can be named late, deleted and created again, and a store beside it.
type cutWorld struct {
	mu  sync.Mutex
	rng *rand.Rand

	topic  int     // which creation of the topic this is
	named  bool    // the server knows incarnations
	log    []int32 // the leader epoch of each record
	first  int64   // what is below was removed by retention
	epoch  int32
	offset cutOffset
	reader *cutReader // who has it

	rows    map[sdk.Stream]map[int64]string // what the store holds
	cov     map[sdk.Stream]*coverage.Set
	cursors map[sdk.Stream][]sdk.Cursor
	epochs  map[sdk.Stream]sdk.Epoch
	tokens  byte
	seen    bool // the stream was started since it was named
	// forgets: the server forgets what was committed with a topic. Then the
	// store is never restored: who would know of another topic that it was?
	forgets bool
	logged  strings.Builder
	calm    bool
	broken  []string
	did     map[string]int
	story   []string // for whoever looks into a failure
}

type cutOffset struct {
	at     int64
	inc    string
	topic  string // the server's own incarnation, where inc has none
	marked bool
}

func newCutWorld(seed uint64) *cutWorld {
	return &cutWorld{rng: rand.New(rand.NewPCG(seed, 2)), named: seed%2 == 0, forgets: seed%3 == 0, epoch: 1, offset: cutOffset{at: sdk.NoPosition},
		rows: map[sdk.Stream]map[int64]string{}, cov: map[sdk.Stream]*coverage.Set{}, cursors: map[sdk.Stream][]sdk.Cursor{},
		epochs: map[sdk.Stream]sdk.Epoch{}, did: map[string]int{}}
}

func (w *cutWorld) stream() sdk.Stream {
	s := sdk.Stream{Topic: "t"}
	if w.named {
		s.Incarnation = fmt.Sprintf("i%d", w.topic)
	}
	return s
}

// record is what stands at a position: it is the same for ever.
func (w *cutWorld) record(at int64) string { return fmt.Sprintf("%d/%d/%d", w.topic, at, w.log[at]) }

func (w *cutWorld) wrong(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *cutWorld) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...)+fmt.Sprintf("   [%s, log %v, committed %+v]", w.stream(), w.log, w.offset))
}

func (w *cutWorld) chance(n int, what string) bool {
	if w.calm || w.rng.IntN(n) > 0 {
		return false
	}
	w.did[what]++
	w.note("%s", what)
	return true
}

// happen is one thing that somebody does to the server or to the store.
func (w *cutWorld) happen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.note("happened") }()
	switch n := w.rng.IntN(10); {
	case n == 0 && len(w.log) > 0:
		w.did["cut"]++
		w.log = w.log[:w.rng.IntN(len(w.log))]
		w.epoch++
	case n == 1:
		w.epoch++ // another leader, in good order
	case n == 2 && !w.named:
		w.did["named"]++
		w.named = true
		w.assignAnew()
	case n == 3 && w.named && w.seen:
		w.did["created again"]++
		w.topic, w.log, w.seen = w.topic+1, nil, false
		if w.forgets {
			w.offset = cutOffset{at: sdk.NoPosition}
		}
		w.epoch++
		w.assignAnew()
	default:
		w.log = append(w.log, slices.Repeat([]int32{w.epoch}, 1+w.rng.IntN(12))...)
	}
}

// assignAnew: the source has found that the stream is another one.
func (w *cutWorld) assignAnew() {
	if r := w.reader; r != nil {
		go r.reassign()
	}
}

func (w *cutWorld) set(k sdk.Stream) *coverage.Set {
	if w.cov[k] == nil {
		w.cov[k] = &coverage.Set{}
	}
	return w.cov[k]
}

// judge: each record of the log that is there now is in the store once, and
// what is committed is committed for it.
func (w *cutWorld) judge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string]int{}
	for _, rows := range w.rows {
		for _, r := range rows {
			times[r]++
		}
	}
	for r, n := range times {
		if n > 1 {
			w.wrong("record %s is there %d times", r, n)
		}
	}
	for at := range int64(len(w.log)) {
		if times[w.record(at)] == 0 {
			w.wrong("record %s is nowhere", w.record(at))
		}
	}
	if w.forgets && strings.Contains(w.logged.String(), "ahead of what the sink holds") {
		w.wrong("a lead where there was none: %s", w.logged.String())
	}
	if w.offset.at != int64(len(w.log)) {
		w.wrong("committed %d (%s), want %d", w.offset.at, w.offset.inc, len(w.log))
	}
}

func (w *cutWorld) broke() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) > 0 {
		return errors.New(w.broken[0])
	}
	return nil
}

// cutSource reads a cutWorld as the Kafka source does.
type cutSource struct{ w *cutWorld }

func (s *cutSource) Describe() sdk.Description { return sdk.Description{Name: "cut"} }
func (s *cutSource) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

type cutReader struct {
	w      *cutWorld
	ev     sdk.Events
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// Guarded by w.mu.
	assigned sdk.Stream
	name     sdk.Stream // of the last Start since
	run      sdk.Start
	stop     context.CancelFunc
	ended    map[uint64]bool
}

func (s *cutSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	r := &cutReader{w: s.w, ev: ev, ended: map[uint64]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	s.w.mu.Lock()
	s.w.reader = r
	s.w.mu.Unlock()
	r.wg.Go(r.reassign)
	return r, nil
}

func (r *cutReader) reassign() {
	r.w.mu.Lock()
	lost := r.end()
	r.assigned, r.name = r.w.stream(), r.w.stream()
	a := sdk.Assignment{Stream: r.assigned, Committed: r.w.offset.at, CommittedIncarnation: r.w.offset.inc, Marked: r.w.offset.marked, Initial: sdk.StartEarliest}
	if o := r.w.offset.topic; o != "" && o != r.assigned.Incarnation {
		a.CommittedIncarnation = o
	}
	r.w.mu.Unlock()
	if lost != 0 {
		r.ev.Lost([]uint64{lost})
	}
	r.ev.Assigned(r.ctx, []sdk.Assignment{a})
}

// end ends the run. w.mu is held.
func (r *cutReader) end() uint64 {
	id := r.run.Run
	if r.stop != nil {
		r.stop()
	}
	r.ended[id], r.run, r.stop = true, sdk.Start{}, nil
	return id
}

func (r *cutReader) Resolve(_ context.Context, qs []sdk.Query) ([]sdk.Resolved, error) {
	return []sdk.Resolved{{Stream: qs[0].Stream}}, nil
}

func (r *cutReader) Start(_ context.Context, sts []sdk.Start) error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	st := sts[0]
	if st.Stream != r.assigned || r.ctx.Err() != nil {
		return sdk.Errorf(sdk.KindFenced, "start", "not assigned")
	}
	if r.w.chance(15, "start failed") {
		return errors.New("busy")
	}
	r.end()
	var known [][2]int64
	if st.Cursor != nil {
		if err := json.Unmarshal(st.Cursor, &known); err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(e [2]int64) bool { return e[1] >= st.Position })
	}
	ctx, stop := context.WithCancel(r.ctx)
	r.run, r.stop, r.name, r.w.seen = st, stop, st.Name(), r.w.named
	r.w.note("started %s at %d as %q, cursor %s", st.Stream, st.Position, st.Name().Incarnation, st.Cursor)
	r.wg.Go(func() { r.read(ctx, st, known) })
	return nil
}

// differs is the first position below next that is another record than was
// read, as far as its epoch is known.
func (w *cutWorld) differs(known [][2]int64, next int64) int64 {
	for k, e := range known {
		to := next
		if k+1 < len(known) {
			to = known[k+1][1]
		}
		for at := e[1]; at < min(to, next); at++ {
			if at >= int64(len(w.log)) || int64(w.log[at]) != e[0] {
				return at
			}
		}
	}
	return next
}

func (r *cutReader) read(ctx context.Context, st sdk.Start, known [][2]int64) {
	for next := st.Position; pause(ctx, 50*time.Millisecond); {
		if _, err := r.ev.WaitCredit(ctx); err != nil {
			return
		}
		r.w.mu.Lock()
		if r.run.Run != st.Run {
			r.w.mu.Unlock()
			return
		}
		end := int64(len(r.w.log))
		if next < r.w.first {
			g := sdk.Gap{Stream: st.Name(), Run: st.Run, Wanted: next, Available: r.w.first, Cause: sdk.GapOutOfRange, Reason: "retention"}
			r.w.mu.Unlock()
			r.ev.Gap(g)
			return
		}
		if at := r.w.differs(known, next); at < next || next > end {
			r.w.mu.Unlock()
			g := sdk.Gap{Stream: st.Name(), Run: st.Run, Wanted: next, Available: min(at, end), Cause: sdk.GapDiverged, Reason: "cut"}
			if at == next {
				g.Cause = sdk.GapOutOfRange
			}
			r.ev.Gap(g)
			return
		}
		to := min(end, next+1+r.w.rng.Int64N(5))
		b, more := r.batch(st, known, next, to)
		known = more
		r.w.mu.Unlock()
		r.ev.Lag([]sdk.Lag{{Stream: st.Name(), Run: st.Run, End: end}})
		if to > next && r.ev.Batch(ctx, b) != nil {
			return
		}
		next = to
	}
}

// batch has the records [from, to), and cursors where the epoch changes.
func (r *cutReader) batch(st sdk.Start, known [][2]int64, from, to int64) (*sdk.Batch, [][2]int64) {
	var fb frame.Builder
	fb.Reset()
	name := st.Name()
	b := &sdk.Batch{Spans: []sdk.Span{{Stream: name, From: from, Next: to, Run: st.Run}}}
	for at := from; at < to; at++ {
		if e := int64(r.w.log[at]); len(known) == 0 || known[len(known)-1][0] != e {
			known = append(slices.Clone(known), [2]int64{e, at})
			token, _ := json.Marshal(known)
			b.Cursors = append(b.Cursors, sdk.Cursor{Stream: name, Position: at, Token: token})
		}
		fb.Append(fb.Stream(name), &frame.Record{Position: at, Value: []byte(r.w.record(at))})
	}
	raw, err := fb.Encode(nil)
	if err == nil {
		b.Frame, err = frame.Open(raw)
	}
	if err != nil {
		panic(err)
	}
	return b, known
}

// goesBy reports whether a name is that of the stream which is assigned: its
// own, the one under which it was started, or its own with a cut. Another one
// is of a topic that was there before.
func (r *cutReader) goesBy(name sdk.Stream) bool {
	base, _, cut := strings.Cut(name.Incarnation, "~")
	return name == r.assigned || name == r.name || cut && base == r.assigned.Incarnation
}

func (r *cutReader) Commit(_ context.Context, ms []sdk.Mark) []error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	m := ms[0]
	if !r.goesBy(m.Stream) {
		return []error{sdk.Errorf(sdk.KindFenced, "commit", "%s is not assigned", m.Stream)}
	}
	if r.w.reader != r || r.ended[m.Run] || r.run.Run != 0 && r.run.Run != m.Run {
		return []error{sdk.Errorf(sdk.KindFenced, "commit", "run %d is over", m.Run)}
	}
	if r.w.chance(15, "commit failed") {
		return []error{errors.New("busy")}
	}
	if hole := r.w.set(m.Stream).FirstHole(); m.Next > hole {
		r.w.wrong("INV1: committed %d of %s, the store has all below %d", m.Next, m.Stream, hole)
	}
	r.w.offset = cutOffset{at: m.Next, inc: m.Stream.Incarnation, marked: true}
	if inc := m.Stream.Incarnation; inc == "" || inc[0] == '~' {
		r.w.offset.topic = r.assigned.Incarnation
	}
	return nil
}

func (r *cutReader) Drop(_ context.Context, runs []uint64) error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, id := range runs {
		if r.run.Run == id {
			r.end()
		}
		r.ended[id] = true
	}
	return nil
}

func (r *cutReader) Close(context.Context) error {
	r.w.mu.Lock()
	r.end()
	if r.w.reader == r {
		r.w.reader = nil
	}
	r.cancel()
	r.w.mu.Unlock()
	r.wg.Wait()
	return nil
}
