// Package pipeline composes source, gate, offset store and sink into one
// running pipeline and owns its life.
//
// One goroutine, the loop, owns all state; whatever happens elsewhere is
// posted to it as a function. Three more goroutines do the blocking work: one
// keeps the source open, one keeps a sink session open and writes to it, and
// at most one commit is under way. The guarantee itself stands in commit.go.
package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/host/lane"
	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
)

// GapPolicy says what happens when the source no longer has a position that
// is wanted.
type GapPolicy uint8

const (
	// GapFail halts the pipeline. The default.
	GapFail GapPolicy = iota
	// GapContinue records the missing positions as void, raises an alarm and
	// goes on.
	GapContinue
)

// DivergencePolicy says what happens when a stream's log was cut and filled
// anew: what was read from the cut on is not what stands there now.
type DivergencePolicy uint8

const (
	// DivergenceFail halts the pipeline. The default.
	DivergenceFail DivergencePolicy = iota
	// DivergenceNewIncarnation raises an alarm and reads the log from the cut on
	// as another stream, whose incarnation has a suffix.
	DivergenceNewIncarnation
)

// Config is what a pipeline is made of. Source and Sink must be distinct per
// pipeline; the pipeline opens and closes them.
type Config struct {
	Name  string
	Owner string // host name and process, for people
	// Source, Sink and what they can do as they are configured.
	Source     sdk.Source
	Sink       sdk.Sink
	SinkCaps   sdk.Capabilities
	SourceCaps sdk.Capabilities
	// Role, Secondaries and Recovery are for a Sink with the role primary-raw,
	// which then must be an sdk.RecoveryStore and an sdk.Replayer.
	Role        Role
	Secondaries []Secondary
	Recovery    Recovery

	Granularity      sdk.Granularity
	TopicGranularity map[string]sdk.Granularity
	// MemoryBudget bounds the frames that are held, in bytes. One frame more
	// may be held than fits. FlowControl says what happens below the bound.
	MemoryBudget int64
	FlowControl  FlowControl
	// MaxAckDelay is how long a batch may wait for its receipt before a Flush
	// asks for it.
	MaxAckDelay time.Duration
	// ShutdownTimeout bounds a graceful stop, the closing of both plugins'
	// sessions included.
	ShutdownTimeout time.Duration
	Limits          sdk.Limits
	OnGap           GapPolicy
	OnDivergence    DivergencePolicy
	// UntilCaughtUp ends the run once everything that the source had at its
	// start is durable and committed; with ErrTopicsAbsent if a topic is not
	// there to be read.
	UntilCaughtUp bool
	Logger        *slog.Logger
}

// Defaults, where Config has the zero value.
const (
	DefaultMemoryBudget    = 128 << 20
	DefaultMaxAckDelay     = 10 * time.Second
	DefaultShutdownTimeout = 30 * time.Second
)

// Pipeline is one pipeline. Run it once.
type Pipeline struct {
	cfg   Config
	log   *slog.Logger
	store sdk.OffsetStore // nil: the sink keeps no coverage
	box   *mailbox
	dog   watchdog
	wg    sync.WaitGroup
	done  chan struct{} // closed when the loop has ended
	// stopSink asks the sink's goroutine to end its session in good order;
	// sinkDone says that it has. stopSource ends the source, abandon whatever is
	// still being closed.
	stopSink            chan struct{}
	sinkDone            chan struct{}
	stopSource, abandon context.CancelFunc
	// starting is held by the starter that is at work, committing by whoever
	// commits.
	starting, committing chan struct{}
	// acquired are the newest epochs that this host has had of each stream, by
	// the store's name; who holds starting uses it.
	acquired map[sdk.Stream]sdk.Epoch

	// Owned by the loop.
	lanes       []*lane.Lane
	meters      []*meter // of the lanes
	workers     []*recovery.Worker
	workerNames []string // their lanes
	// pressed is 0, or, while recovery has to yield, how many positions a second
	// the live path reads.
	pressed      atomic.Int64
	pressure     pressure
	stopRecovery chan struct{}
	gate         *ackgate.Gate
	streams      map[sdk.Stream]*stream // by the name that the source gives them
	byKey        map[sdk.Stream]*stream // by the name that the store has for them
	byRun        map[uint64]*stream
	lastRun      uint64
	src          *source
	flow         control
	out          outbound
	revokes      []*revoke
	gapped       []*stream
	topics       topics
	commits      committer
	stopping     *stopping
	stat         Status
}

// New returns a pipeline that has not started.
func New(cfg Config) *Pipeline {
	cfg.MemoryBudget = orDefault(cfg.MemoryBudget, DefaultMemoryBudget)
	cfg.MaxAckDelay = orDefault(cfg.MaxAckDelay, DefaultMaxAckDelay)
	cfg.ShutdownTimeout = orDefault(cfg.ShutdownTimeout, DefaultShutdownTimeout)
	cfg.Limits = orDefault(cfg.Limits, sdk.DefaultLimits)
	cfg.Logger = orDefault(cfg.Logger, slog.Default())
	p := &Pipeline{
		cfg: cfg, log: cfg.Logger.With("pipeline", cfg.Name), box: newMailbox(), done: make(chan struct{}),
		stopSink: make(chan struct{}), stopRecovery: make(chan struct{}), sinkDone: make(chan struct{}), starting: make(chan struct{}, 1), committing: make(chan struct{}, 1),
		gate: ackgate.New(), streams: map[sdk.Stream]*stream{}, byKey: map[sdk.Stream]*stream{}, byRun: map[uint64]*stream{}, lastRun: randomID(),
		acquired: map[sdk.Stream]sdk.Epoch{},
	}
	p.flow = newControl(&p.cfg)
	p.stat.Observed.Measured = newMeasured()
	p.out.init()
	if s, ok := cfg.Sink.(sdk.OffsetStore); ok && cfg.SinkCaps.OffsetStore {
		p.store = s
	}
	p.newLanes()
	p.newWorkers()
	return p
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// randomID begins a sequence of numbers that are never used again: runs and
// sessions are counted up from a random place in the lower half of the range.
func randomID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) >> 2
}

// Run runs the pipeline until ctx ends (a graceful stop), until it has caught
// up, if that is asked for, or until it must halt; the reason is the error. A
// second way to stop does not exist here: whoever will not wait kills the
// plugins.
func (p *Pipeline) Run(ctx context.Context) error {
	defer p.watchLoop()()
	if p.cfg.Role == RoleRecovery {
		defer close(p.done)
		return p.recoverOnly(ctx)
	}
	// Plugins are called with contexts of their own: a graceful stop still
	// needs them. end is over when the time for a stop is.
	end, abandon := context.WithCancel(context.WithoutCancel(ctx))
	reading, stopSource := context.WithCancel(end)
	writing, stopSink := context.WithCancel(end)
	p.stopSource, p.abandon = stopSource, abandon
	p.goRun(func() { p.runSource(reading, end) })
	p.goRun(func() { defer close(p.sinkDone); p.runSink(writing, end) })
	for _, l := range p.lanes {
		p.goRun(func() { l.Run(writing) })
	}
	if !p.cfg.UntilCaughtUp { // then it follows
		for _, w := range p.workers {
			p.goRun(func() { w.Run(writing) })
		}
	}
	p.goRun(func() { p.watchMemory(writing) })
	err := p.loop(ctx, end)
	if err == nil && p.cfg.UntilCaughtUp {
		err = p.catchUpSecondaries(ctx)
	}
	stopSink()
	p.wg.Wait()
	p.stopping.timer.Stop()
	abandon()
	left := p.unanswered()
	close(p.done)
	if err == nil && p.cfg.UntilCaughtUp && ctx.Err() == nil {
		err = left
	}
	return err
}

// goRun starts a goroutine that Run waits for.
func (p *Pipeline) goRun(f func()) { p.wg.Go(f) }

func (p *Pipeline) loop(ctx, end context.Context) error {
	tick := time.NewTicker(min(max(p.cfg.MaxAckDelay/10, 10*time.Millisecond), time.Second))
	defer tick.Stop()
	stop := ctx.Done()
	for !p.finished() {
		select {
		case <-p.box.wake:
			p.serve()
		case <-tick.C:
		case <-stop:
			stop = nil
			p.stop(nil)
		}
		p.settle()
	}
	p.giveLeave()
	p.finish(end)
	return p.stopping.err
}

// settle draws the conclusions from whatever has just happened.
func (p *Pipeline) settle() {
	p.flushIfDue()
	p.commitReady()
	p.finishRevokes()
	p.resumeAfterGaps()
	p.look()
	p.grant()
	p.press()
	p.endIfCaughtUp()
}

// mailbox is a queue of functions for the loop. Posting never blocks; what
// can be posted is bounded by credit, by what is in flight, and by streams.
type mailbox struct {
	mu   sync.Mutex
	q    []func()
	wake chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.q = append(m.q, f)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.q
	m.q = nil
	return q
}
