package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

var (
	errOutOfTime = errors.New("the window's time is over")
	errRefused   = errors.New("the secondary refuses what it is sent again and again")
	errSilent    = errors.New("the secondary does not answer what it was sent, though the window's time is over; the window is left to the next attempt")
	errLeaseLost = errors.New("the lease was lost: another host works on the window")
)

// answerTime is how long a secondary may take, at the least, to answer once the
// window's time is over. Then the lease is no longer renewed: a sink that hangs
// would keep the window from every other host.
const answerTime = time.Minute

// near is how many positions that are not wanted may lie between two holes
// that one Replay reads.
const near = 1024

// work rebuilds a window under its lease.
func (r *Worker) work(ctx context.Context, w *sdk.RecoveryWindow) error {
	life, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		r.renew(life, w, cancel)
	}()
	defer func() {
		cancel(nil)
		<-renewed
	}()
	err := r.rebuild(life, w)
	if err != nil {
		r.Close(ctx) // what is unanswered may still land; the next try looks again
	}
	if errors.Is(err, errLeaseLost) || sdk.KindOf(err) == sdk.KindFenced {
		r.log.Info("another host has the window", "stream", w.Stream.String(), "from", w.From, "next", w.Next)
		return nil
	}
	if err != nil {
		return fmt.Errorf("rebuild [%d,%d) of %s: %w", w.From, w.Next, w.Stream, err)
	}
	return nil
}

// renew keeps the lease until ctx ends, and ends the work once it is lost.
func (r *Worker) renew(ctx context.Context, w *sdk.RecoveryWindow, lost context.CancelCauseFunc) {
	last := time.Now()
	for pause(ctx, r.cfg.LeaseTTL/3) {
		_, err := r.cfg.Store.RenewWindow(ctx, w.ID, w.Fence, r.cfg.LeaseTTL)
		switch {
		case err == nil:
			last = time.Now()
		case sdk.KindOf(err) == sdk.KindFenced || time.Since(last) > r.cfg.LeaseTTL:
			lost(errLeaseLost)
			return
		}
	}
}

// rebuild looks again, under the lease, at what is missing, writes that, and
// completes the window with what was read or was covered already.
func (r *Worker) rebuild(ctx context.Context, w *sdk.RecoveryWindow) error {
	known, _, err := read(ctx, r.cfg.Store, r.cfg.Lane, []sdk.Stream{w.Stream})
	if err != nil {
		return err
	}
	k := &known[0]
	hull := coverage.Interval{From: w.From, Next: w.Next}
	o := Options{Within: hull, RetrySetAside: w.RetrySetAside}
	before, todo := positions(k.Lane.Held()), k.Missing(o)
	late := false
	if len(todo) > 0 {
		err := r.deliver(ctx, w, todo)
		if late = errors.Is(err, errOutOfTime); err != nil && !late && !errors.Is(err, errRefused) {
			return err
		}
	}
	return r.complete(ctx, w, before, late)
}

// deliver writes the holes and records what the sink answered, before anything
// is completed. When the time is over it settles what was sent and stops.
func (r *Worker) deliver(ctx context.Context, w *sdk.RecoveryWindow, todo []coverage.Interval) error {
	ses, err := r.session(ctx)
	if err != nil {
		return err
	}
	r.run++
	ses.take() // of a window that was given up: its coverage is read again
	d := &delivery{r: r, ses: ses, w: w, deadline: time.Now().Add(r.cfg.WindowDuration)}
	whole := ctx
	ctx, cancel := context.WithDeadlineCause(whole, d.deadline.Add(max(r.cfg.WindowDuration, answerTime)), errSilent)
	defer cancel()
	for _, v := range r.batchesOf(todo) {
		d.todo = v
		hull := sdk.Window{Stream: w.Stream, From: v[0].From, Next: v[len(v)-1].Next}
		var read []sdk.Span
		if read, err = r.cfg.Raw.Replay(ctx, hull, func(b *sdk.Batch) error { return d.batch(ctx, b) }); err != nil {
			break
		}
		d.noteRead(read)
	}
	if err != nil && !errors.Is(err, errOutOfTime) && !errors.Is(err, errRefused) {
		return err
	}
	late := err
	left, err := d.settle(ctx)
	if err != nil {
		return err
	}
	if left > 0 {
		late = errRefused
	}
	if errors.Is(late, errRefused) {
		d.r.log.Warn("the secondary refuses for now what is rebuilt; the rest of the window waits", "stream", w.Stream.String(), "from", w.From, "next", w.Next,
			"attempts", d.r.cfg.Attempts)
	}
	if err := d.record(whole); err != nil {
		return err
	}
	return late
}

// batchesOf groups holes that are near each other: one Replay each.
func (r *Worker) batchesOf(todo []coverage.Interval) (out [][]coverage.Interval) {
	for _, i := range todo {
		if n := len(out) - 1; n >= 0 && i.From-out[n][len(out[n])-1].Next <= near {
			out[n] = append(out[n], i)
			continue
		}
		out = append(out, []coverage.Interval{i})
	}
	return out
}

// delivery is the work on one window.
type delivery struct {
	r        *Worker
	ses      *session
	w        *sdk.RecoveryWindow
	todo     []coverage.Interval
	deadline time.Time
	// read is what Replay says it read; sent what batches went out for.
	read, sent coverage.Set
}

// batch sends the part of a replayed batch that is missing.
func (d *delivery) batch(ctx context.Context, b *sdk.Batch) error {
	// Each claim gets something done, however short its time is.
	if len(d.sent.Held()) > 0 && time.Now().After(d.deadline) || d.r.stopping() {
		return errOutOfTime
	}
	faultpoint.Hit("replayed")
	if b.Frame.Len() == 0 {
		return nil // positions without a record: read, and nothing to send
	}
	d.r.yield(ctx, b.Frame.NumRecords())
	if err := d.room(ctx, b.Bytes()); err != nil {
		return err
	}
	out, err := d.wanted(b)
	if err != nil || len(out) == 0 {
		return err
	}
	if err := keep(b, out); err != nil {
		return err
	}
	for _, s := range out {
		d.sent.AddHeld(coverage.Interval{From: s.span.From, Next: s.span.Next})
		if err := d.ses.send(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// room waits until the budget has room for a batch. What was refused takes room
// as well: it is sent again, and the window is given up for now if that does not
// help.
func (d *delivery) room(ctx context.Context, bytes int64) error {
	most := max(d.r.cfg.Budget-bytes, 0)
	all, refused := d.ses.inMemory()
	if all <= most {
		return nil
	}
	if refused == 0 {
		if err := d.ses.settle(ctx, most); err != nil {
			return err
		}
		if all, refused = d.ses.inMemory(); all <= most || refused == 0 {
			return nil
		}
	}
	left, err := d.settle(ctx)
	if err == nil && left > 0 {
		return errRefused
	}
	return err
}

// wanted are the parts of b that are missing, a batch each.
func (d *delivery) wanted(b *sdk.Batch) (out []*sent, err error) {
	for _, s := range b.Spans {
		if s.Stream != d.w.Stream {
			return nil, sdk.Errorf(sdk.KindFatal, "replay", "raw sent %s for a window of %s", s.Stream, d.w.Stream)
		}
		for _, i := range within(d.todo, s.From, s.Next) {
			rows := rowsOf(b.Frame, s.Stream, i)
			span := sdk.Span{Stream: s.Stream, From: i.From, Next: i.Next, Run: d.r.run}
			x := &sent{span: span, batch: &sdk.Batch{Rows: []sdk.RowRange{rows}, Spans: []sdk.Span{span}}}
			if rows.From >= rows.To {
				x.batch.Rows = []sdk.RowRange{}
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// keep gives the batches b's frame, which is taken over if b allows that, and
// else copied: it dies when Replay goes on, and receipts come later.
func keep(b *sdk.Batch, out []*sent) error {
	v, ids, k := b.Frame, b.IDs, &kept{refs: len(out), free: b.Free}
	b.Free = nil
	if k.free == nil {
		var err error
		if v, err = frame.Open(slices.Clone(b.Frame.Bytes())); err != nil {
			return fmt.Errorf("copy a replayed frame: %w", err)
		}
		ids = slices.Clone(b.IDs)
	}
	for _, s := range out {
		s.batch.Frame, s.batch.IDs, s.frame = v, ids, k
	}
	return nil
}

// within is the part of ascending intervals in [from, next).
func within(in []coverage.Interval, from, next int64) (out []coverage.Interval) {
	for _, i := range in {
		if i = (coverage.Interval{From: max(i.From, from), Next: min(i.Next, next)}); !i.Empty() {
			out = append(out, i)
		}
	}
	return out
}

// rowsOf are the rows of v with positions in i: v has one stream, ascending.
func rowsOf(v frame.View, s sdk.Stream, i coverage.Interval) sdk.RowRange {
	at := func(p int64) int {
		return sort.Search(v.NumRecords(), func(k int) bool { return v.Position(k) >= p })
	}
	return sdk.RowRange{From: at(i.From), To: at(i.Next)}
}

// noteRead takes what Replay says: also positions that have no row.
func (d *delivery) noteRead(spans []sdk.Span) {
	for _, s := range spans {
		if s.Stream != d.w.Stream {
			continue
		}
		for _, i := range within(d.todo, s.From, s.Next) {
			d.read.AddHeld(i)
		}
	}
}

// settle waits for all receipts, and sends what was refused again. It returns
// how many batches still are refused.
func (d *delivery) settle(ctx context.Context) (left int, err error) {
	for attempt := 1; ; attempt++ {
		if err := d.ses.settle(ctx, 0); err != nil {
			return 0, err
		}
		again := d.ses.takeRefused()
		if len(again) == 0 || attempt >= d.r.cfg.Attempts {
			return len(again), nil
		}
		if !pause(ctx, backoff(attempt)) {
			return 0, context.Cause(ctx)
		}
		for _, b := range again {
			if err := d.ses.send(ctx, b); err != nil {
				return 0, err
			}
		}
	}
}

// record makes what was answered the lane's coverage: what receipts called
// durable, and what was read and has no row.
func (d *delivery) record(ctx context.Context) error {
	held, aside := d.ses.take()
	for _, i := range d.read.Held() {
		for _, n := range d.sent.Missing(i) {
			held.AddHeld(n)
		}
	}
	rec := sdk.CoverageRecord{Stream: d.w.Stream, Held: slices.Clone(held.Held()), SetAside: slices.Clone(aside.Held())}
	if len(rec.Held) == 0 && len(rec.SetAside) == 0 {
		return nil
	}
	faultpoint.Hit("recover-cover")
	if err := d.r.cfg.Store.Record(ctx, d.r.cfg.Lane, []sdk.CoverageRecord{rec}); err != nil {
		return fmt.Errorf("record coverage of lane %s: %w", d.r.cfg.Lane, err)
	}
	d.r.mu.Lock()
	d.r.backlog.Rebuilt += positions(rec.Held)
	// Until it is looked at again, which may be hours later.
	d.r.backlog.Positions = max(d.r.backlog.Positions-positions(rec.Held)-positions(rec.SetAside), 0)
	d.r.backlog.SetAside += positions(rec.SetAside)
	d.r.mu.Unlock()
	return nil
}

// complete ends the lease with what the lane has now. What raw calls void,
// unless it was pruned, will never be delivered and is done too.
//
// A window of which nothing could be done, but for want of time, is not given
// back: it would be claimed again at once. Its lease runs out instead.
func (r *Worker) complete(ctx context.Context, w *sdk.RecoveryWindow, before int64, late bool) error {
	known, _, err := read(ctx, r.cfg.Store, r.cfg.Lane, []sdk.Stream{w.Stream})
	if err != nil {
		return err
	}
	k := &known[0]
	hull := coverage.Interval{From: w.From, Next: w.Next}
	lost := k.Unrecoverable(Options{Within: hull})
	done := k.Lane.Clone()
	for _, i := range k.SetAside {
		done.AddHeld(i)
	}
	for _, v := range k.Raw.Voids() {
		if v.Reason != coverage.Pruned {
			done.AddHeld(v.Interval)
		}
	}
	settled := done.Clone()
	for _, i := range lost {
		settled.AddHeld(i)
	}
	if left := settled.Missing(hull); len(left) > 0 && !late && positions(k.Lane.Held()) == before {
		r.log.Warn("nothing could be done for a window; it waits until its lease is over", "stream", w.Stream.String(),
			"from", left[0].From, "next", left[len(left)-1].Next, "lease", r.cfg.LeaseTTL)
		return nil
	}
	faultpoint.Hit("complete")
	return r.cfg.Store.CompleteWindow(ctx, sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: doneOf(done, hull), Unrecoverable: lost})
}

// yield leaves the machine to the live path for as long as that needs it, but
// not without end: recovery goes on, slowly.
func (r *Worker) yield(ctx context.Context, rows int) {
	if r.cfg.Yield == nil {
		return
	}
	for began := time.Now(); time.Since(began) < r.cfg.Yield(rows) && !r.stopping(); {
		if !pause(ctx, yieldStep) {
			return
		}
	}
}

// yieldStep is how often it is asked whether the live path still is in need.
const yieldStep = 10 * time.Millisecond
