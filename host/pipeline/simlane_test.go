package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// simLane is a secondary under a name, and what raw's store knows of it.
type simLane struct {
	name    string
	target  *simTarget
	parts   map[*simStream]*simPart
	windows []*simWindow
}

// simTarget is where a secondary writes: a machine of its own. A secondary that
// was renamed writes where it wrote.
type simTarget struct {
	name   string
	poison bool // it refuses some rows for good
	down   bool
	rows   map[*simStream]*[]uint8
	undo   []func() // what is there and not synced, the newest last
	cut    uint64   // how often power was cut
}

// simPart is one stream in a lane.
type simPart struct {
	held, aside coverage.Set
	floor       int64
	rows        []uint8 // the target's, as it is now
}

// setAside is what was refused and did not come after all.
func (p *simPart) setAside() (out []coverage.Interval) {
	for _, i := range p.aside.Held() {
		out = append(out, p.held.Missing(i)...)
	}
	return out
}

// addLane puts a secondary into the configuration; target nil: a new one. The
// lock is held.
func (s *sim) addLane(target *simTarget) {
	name := fmt.Sprint("x", len(s.lanes))
	if target == nil {
		target = &simTarget{name: name, poison: s.roll("profile", 2) == 0, rows: map[*simStream]*[]uint8{}}
	}
	l := &simLane{name: name, target: target, parts: map[*simStream]*simPart{}}
	s.lanes = append(s.lanes, l)
	s.wanted = append(s.wanted, l)
}

// reconfigure adds, removes or renames a secondary. Hosts that run go on with
// what they were started with. The lock is held.
func (s *sim) reconfigure() {
	i := s.roll("conductor", len(s.wanted))
	old := s.wanted[i]
	switch k := s.roll("conductor", 3); {
	case len(s.lanes) > 8:
	case k == 0 && len(s.wanted) < 4:
		s.addLane(nil)
		s.step("secondary added", s.wanted[len(s.wanted)-1].name, nil, 0, 0)
	case k == 1 && len(s.wanted) > 1:
		s.wanted = slices.Delete(slices.Clone(s.wanted), i, i+1)
		s.step("secondary removed", old.name, nil, 0, 0)
	case k == 2:
		s.wanted = slices.Delete(slices.Clone(s.wanted), i, i+1)
		s.addLane(old.target)
		s.step("secondary renamed", old.name, nil, 0, 0)
	}
}

// part is what the lane has of a stream. The lock is held.
func (l *simLane) part(p *simStream) *simPart {
	part := l.parts[p]
	if part == nil {
		part = &simPart{}
		l.parts[p] = part
	}
	part.rows = *l.target.of(p)
	return part
}

func (t *simTarget) of(p *simStream) *[]uint8 {
	if t.rows[p] == nil {
		t.rows[p] = &[]uint8{}
	}
	return t.rows[p]
}

// poisoned are the records that a poisoned target refuses.
func (p *simStream) poisoned(pos int64) bool { return p.mix(pos)>>16%23 == 0 }

// simSecondary is a secondary's sink as one host has it, live or for recovery.
type simSecondary struct {
	h    *simHost
	lane *simLane
	use  string
}

func (simSecondary) Describe() sdk.Description {
	return sdk.Description{Name: "secondary", Version: "1", Kind: sdk.KindSink}
}
func (simSecondary) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (x simSecondary) who() string { return x.h.name + "/" + x.lane.name + "/" + x.use }

func (x simSecondary) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	s, w := x.h.s, &simLaneWriter{x: x, ses: ses, closing: make(chan struct{})}
	if err := x.h.call(ctx, x.lane.name+"/"+x.use, func() error {
		if x.lane.target.down || s.fault(x.who(), 8, "secondary would not open") {
			return errNoDatabase
		}
		w.cut = x.lane.target.cut
		w.queue = make(chan *sdk.Batch, 1+s.roll(x.who(), 6))
		return nil
	}); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.wg.Go(func() { w.run(life) })
	x.h.onDeath(func() { time.AfterFunc(s.withinLocked(x.who(), time.Second), stop) })
	return w, nil
}

type simLaneWriter struct {
	x     simSecondary
	ses   sdk.Session
	cut   uint64
	stop  context.CancelFunc
	wg    sync.WaitGroup
	queue chan *sdk.Batch
	// closing: what waits is written, nothing more is taken.
	closing chan struct{}
}

func (w *simLaneWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if err := w.x.h.pass(ctx); err != nil {
		return err
	}
	if w.x.h.s.faultNow(w.x.who()+"/write", 60, "secondary's write failed") {
		return errors.New("broken pipe")
	}
	select {
	case w.queue <- b:
		return nil
	case <-w.closing:
		return errors.New("closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *simLaneWriter) Close(ctx context.Context) error {
	close(w.closing)
	if ctx.Err() != nil {
		w.stop()
	}
	w.wg.Wait()
	w.stop()
	return nil
}

// run writes batches, and syncs and answers several at once.
func (w *simLaneWriter) run(life context.Context) {
	s := w.x.h.s
	for {
		var bs []*sdk.Batch
		select {
		case b := <-w.queue:
			bs = append(bs, b)
		case <-life.Done():
			return
		case <-w.closing:
			select {
			case b := <-w.queue:
				bs = append(bs, b)
			default:
				return
			}
		}
		for more := true; more && len(bs) < 4; {
			select {
			case b := <-w.queue:
				bs = append(bs, b)
			default:
				more = false
			}
		}
		rs, ok := w.write(bs)
		if !ok || !pause(life, s.within(w.x.who(), s.pr.lazy)) || !w.sync() {
			w.ses.Fail(errors.New("killed"))
			return
		}
		for _, r := range rs {
			w.ses.Report(r)
		}
	}
}

// write puts rows where a loss of power still takes them. false: the session is
// over.
func (w *simLaneWriter) write(bs []*sdk.Batch) (rs []sdk.Receipt, ok bool) {
	s, t := w.x.h.s, w.x.lane.target
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.down || t.cut != w.cut || s.fault(w.x.who(), 40, "secondary died before the write") {
		return nil, false
	}
	for _, b := range bs {
		s.checkRows(b, w.x.who())
		if s.fault(w.x.who(), 20, "secondary refused for now") {
			rs = append(rs, sdk.AllOutcome(w.ses.ID, b, sdk.Retryable, "busy"))
			continue
		}
		r := sdk.AllDurable(w.ses.ID, b)
		for i, sp := range b.Spans {
			w.span(b, sp, &r.Outcomes[i])
		}
		rs = append(rs, r)
	}
	return rs, true
}

// sync makes what the target has durable. false: the session is over.
func (w *simLaneWriter) sync() bool {
	s, t := w.x.h.s, w.x.lane.target
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.down || t.cut != w.cut {
		return false
	}
	if s.bug != "no-sync-secondary" || s.roll(w.x.who(), 10) == 0 {
		t.undo = nil
	}
	return !s.fault(w.x.who(), 40, "secondary died before its receipt")
}

// span writes a span's rows, and checks that raw has each. The lock is held.
func (w *simLaneWriter) span(b *sdk.Batch, sp sdk.Span, o *sdk.Outcome) {
	s, t := w.x.h.s, w.x.lane.target
	p := s.byKey[sp.Stream]
	rows := t.of(p)
	s.step("rows in "+w.x.use, w.x.who(), p, sp.From, sp.Next)
	if !sp.Epoch.IsZero() {
		s.wrong("a secondary was given raw's epoch for %s", p.name)
	}
	has := s.rowsOf(b, p)
	for pos := max(sp.From, p.base); pos < min(sp.Next, p.end); pos++ {
		switch {
		case !has[pos]:
			if p.exists(pos) && p.has(*rows, pos) == 0 && p.has(p.rows, pos) > 0 && !(t.poison && p.poisoned(pos)) {
				s.wrong("%s was sent [%d,%d) of %s without the row at %d", w.x.who(), sp.From, sp.Next, p.name, pos)
			}
			continue
		case p.has(p.rows, pos) == 0:
			s.wrong("%s was sent the row at %d of %s, which raw does not hold", w.x.who(), pos, p.name)
		case t.poison && p.poisoned(pos):
			o.Kind = sdk.Rejected
			o.Rejected = append(o.Rejected, sdk.RejectedRow{Position: pos, Reason: "poison"})
		case p.has(*rows, pos) > 0:
			s.did["row sent again"]++ // it is idempotent on the record id
		default:
			p.put(rows, pos, 1)
			t.undo = append(t.undo, func() { p.put(rows, pos, 0) })
		}
	}
}

// cutPower takes power from a secondary's machine: what was not synced is gone,
// and the lane's coverage must not have had it (INV8). The lock is held.
func (s *sim) cutPower(l *simLane) {
	t := l.target
	s.step("secondary's power cut", t.name, nil, int64(len(t.undo)), 0)
	for _, f := range slices.Backward(t.undo) {
		f()
	}
	t.undo = nil
	t.cut++
	for _, o := range s.lanes {
		if o.target != t {
			continue
		}
		for _, p := range s.streams {
			part := o.part(p)
			for _, i := range part.held.Held() {
				for pos := max(i.From, p.base); pos < min(i.Next, p.end); pos++ {
					if p.exists(pos) && p.has(p.rows, pos) > 0 && p.has(part.rows, pos) == 0 {
						s.wrong("INV8: after a power cut lane %s covers %d of %s, which is gone", o.name, pos, p.name)
						return
					}
				}
			}
		}
	}
}
