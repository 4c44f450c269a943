package recovery

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Config is what a worker is made of.
type Config struct {
	Lane     string
	Pipeline string
	Owner    string // host name and process, for people
	Raw      sdk.Replayer
	Store    sdk.RecoveryStore
	// Sink is the secondary, in a process of its own.
	Sink sdk.Sink
	// DurableFlush: the sink's receipts promise nothing. What it wrote counts
	// once it says that it has flushed it.
	DurableFlush bool
	Limits       sdk.Limits

	WindowRows     int64
	WindowDuration time.Duration
	LeaseTTL       time.Duration
	Budget         int64
	Interval       time.Duration
	// Attempts is how often a batch that the sink refuses for now is sent
	// before its window is given back.
	Attempts int
	// Yield, if set, says how long to leave the machine to the live path before
	// a batch of so many rows is sent; 0: it does not need it.
	Yield func(rows int) time.Duration
	// Stop, when it closes, asks for an end in good order: what was sent is
	// answered, recorded and completed.
	Stop   <-chan struct{}
	Alarm  func(string)
	Logger *slog.Logger
}

// Worker rebuilds one secondary. Run or Once may be called, one at a time;
// Backlog from anywhere.
type Worker struct {
	cfg Config
	log *slog.Logger
	ses *session
	// lastSession and run begin at random: they are never used again.
	lastSession, run uint64
	watched          map[uint64]watched

	mu      sync.Mutex
	backlog Backlog
	lost    map[sdk.Stream]*coverage.Set
}

// watched is a lease that is timed here.
type watched struct {
	version uint64
	since   time.Time
}

// New returns a worker.
func New(cfg Config) *Worker {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return &Worker{cfg: cfg, log: cfg.Logger.With("sink", cfg.Lane), watched: map[uint64]watched{}, lost: map[sdk.Stream]*coverage.Set{},
		lastSession: binary.BigEndian.Uint64(b[:8]) >> 2, run: binary.BigEndian.Uint64(b[8:]) >> 2}
}

// Backlog returns what was left when it was last looked at.
func (r *Worker) Backlog() Backlog {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.backlog
}

// Run plans and works until ctx ends.
func (r *Worker) Run(ctx context.Context) {
	defer r.Close(ctx)
	for fails := 0; ctx.Err() == nil && !r.stopping(); {
		worked, err := r.Once(ctx, nil, Options{WindowRows: r.cfg.WindowRows})
		r.mu.Lock()
		r.backlog.Err = err
		r.mu.Unlock()
		wait := r.cfg.Interval
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			fails++
			wait = backoff(fails)
			r.log.Warn("recovery failed; trying again", "error", err, "in", wait)
		case worked > 0:
			fails = 0
			continue
		default:
			fails = 0
			r.Close(ctx) // an idle session would hold back a sink's file
		}
		if !r.rest(ctx, wait) {
			return
		}
	}
}

func (r *Worker) stopping() bool {
	select {
	case <-r.cfg.Stop:
		return true
	default:
		return false
	}
}

// rest waits; false: the worker ends.
func (r *Worker) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.cfg.Stop:
	case <-ctx.Done():
	}
	return false
}

// All works until nothing is missing and no window is open, and returns how
// many it worked on. Windows that other hosts hold, or that nothing can be
// done for, are waited for until their leases are over, once. So is what fails
// now and then, like a plugin that is just being started again: the third
// failure without a window between ends it.
func (r *Worker) All(ctx context.Context) (windows int, err error) {
	defer r.Close(ctx)
	began, fails := time.Now(), 0
	for {
		n, err := r.Once(ctx, nil, Options{WindowRows: r.cfg.WindowRows})
		windows += n
		if n > 0 {
			fails = 0
		}
		b := r.Backlog()
		switch {
		case err != nil && fails < 2 && ctx.Err() == nil && !r.stopping() && sdk.KindOf(err) == sdk.KindRetryable:
			fails++
			r.log.Warn("recovery failed; trying again", "error", err, "in", backoff(fails))
			if !r.rest(ctx, backoff(fails)) {
				return windows, err
			}
			continue
		case err != nil || r.stopping():
			return windows, err
		case n > 0:
			began = time.Now()
		case b.Positions == 0:
			return windows, nil
		case time.Since(began) > 3*r.cfg.LeaseTTL:
			return windows, fmt.Errorf("%d positions of lane %s are still missing", b.Positions, r.cfg.Lane)
		}
		if n == 0 && !r.rest(ctx, min(r.cfg.Interval, r.cfg.LeaseTTL/3)) {
			return windows, ctx.Err()
		}
	}
}

// Once plans what is missing of the streams (nil: of all) and works on windows
// until none is free. It returns how many it worked on; what is left of them
// is open again, or stays leased for a while if nothing could be done for it.
func (r *Worker) Once(ctx context.Context, streams []sdk.Stream, o Options) (windows int, err error) {
	if err := r.plan(ctx, streams, o); err != nil {
		return 0, err
	}
	for ctx.Err() == nil && !r.stopping() {
		w, err := r.claim(ctx)
		if err != nil || w == nil {
			return windows, err
		}
		if err := r.work(ctx, w); err != nil {
			return windows, err
		}
		windows++
	}
	return windows, ctx.Err()
}

// maxWindows bounds the windows of a lane that are planned at a time, however
// much is missing: planners and stores hold them all. Streams share it; each has
// minWindows, so that one whose windows come to nothing keeps none from work.
const (
	maxWindows = 16_384
	minWindows = 16
)

// plan puts windows for what is missing into the store.
func (r *Worker) plan(ctx context.Context, streams []sdk.Stream, o Options) error {
	known, err := Read(ctx, r.cfg.Store, r.cfg.Lane, streams)
	if err != nil {
		return err
	}
	if o.Windows == 0 && !o.RetrySetAside { // a retry is planned once
		o.Windows = max(maxWindows/max(len(known), 1), minWindows)
	}
	var want []sdk.RecoveryWindow
	var b Backlog
	for i := range known {
		k := &known[i]
		b.add(k.Backlog())
		r.alarm(k.Stream, k.Unrecoverable(Options{}))
		want = append(want, Plan(k, o)...)
	}
	faultpoint.Hit("plan")
	if len(want) > 0 {
		got, err := r.cfg.Store.PlanWindows(ctx, r.cfg.Lane, want)
		if err != nil {
			return fmt.Errorf("plan windows: %w", err)
		}
		b.count(got)
	}
	r.mu.Lock()
	b.Rebuilt, b.SetAside, b.At = r.backlog.Rebuilt, r.backlog.SetAside, time.Now()
	r.backlog = b
	r.mu.Unlock()
	return nil
}

// alarm tells once of what cannot be rebuilt.
func (r *Worker) alarm(s sdk.Stream, lost []coverage.Interval) {
	known := r.lost[s]
	if known == nil {
		known = &coverage.Set{}
		r.lost[s] = known
	}
	for _, i := range lost {
		for _, n := range known.Missing(i) {
			r.cfg.Alarm(fmt.Sprintf("positions [%d,%d) of %s never reached sink %q and were pruned from raw: they cannot be rebuilt", n.From, n.Next, s, r.cfg.Lane))
		}
		known.AddHeld(i)
	}
}

func positions(in []coverage.Interval) (n int64) {
	for _, i := range in {
		n += i.Next - i.From
	}
	return n
}

// claim leases a window that is free. One is free too if its lease did not
// change for its whole time, in a store without a clock, or with one that was
// set back: the lease of a host that has died would last as much longer.
func (r *Worker) claim(ctx context.Context) (*sdk.RecoveryWindow, error) {
	c := sdk.WindowClaim{Lane: r.cfg.Lane, Holder: r.cfg.Owner, TTL: r.cfg.LeaseTTL}
	faultpoint.Hit("claim")
	w, err := r.cfg.Store.ClaimWindow(ctx, c)
	if err != nil || w != nil {
		return w, err
	}
	windows, err := r.cfg.Store.Windows(ctx, r.cfg.Lane)
	if err != nil {
		return nil, err
	}
	r.watch(windows)
	for _, id := range slices.Sorted(maps.Keys(r.watched)) { // the oldest window first
		seen := r.watched[id]
		if time.Since(seen.since) < r.cfg.LeaseTTL {
			continue
		}
		c.ID, c.LeaseVersion = id, seen.version
		if got, err := r.cfg.Store.ClaimWindow(ctx, c); err != nil || got != nil {
			return got, err
		}
	}
	return nil, nil
}

// watch notes since when each lease has not changed that no clock will end in
// time.
func (r *Worker) watch(windows []sdk.RecoveryWindow) {
	seen := map[uint64]watched{}
	for _, w := range windows {
		if w.State != sdk.WindowClaimed || w.Lease != sdk.NoClock && w.Lease <= r.cfg.LeaseTTL {
			continue
		}
		was, ok := r.watched[w.ID]
		if !ok || was.version != w.LeaseVersion {
			was = watched{w.LeaseVersion, time.Now()}
		}
		seen[w.ID] = was
	}
	r.watched = seen
}

func (r *Worker) session(ctx context.Context) (*session, error) {
	if r.ses != nil {
		return r.ses, nil
	}
	s, err := r.openSession(ctx)
	r.ses = s
	return s, err
}

// Close ends the session with the secondary, if one is open. Not beside Run or
// Once.
func (r *Worker) Close(ctx context.Context) {
	if r.ses != nil {
		r.ses.close(ctx)
		r.ses = nil
	}
}

// backoff is the pause after n failures in a row: 100 ms doubling to 30 s.
func backoff(n int) time.Duration {
	return min(100*time.Millisecond<<min(max(n-1, 0), 10), 30*time.Second)
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
