// Package lane delivers what the primary-raw sink holds to one secondary sink,
// live. A lane never makes anybody wait: what its buffer has no room for is
// shed, and recovery rebuilds it from raw. What the sink has answered becomes
// the lane's coverage in the offset store, and the live floor says below which
// position nothing is in flight any more (docs/storage.md, "Live floor and raw
// floor").
package lane

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Config is what a lane is made of. All fields but Sent and Answered are needed.
type Config struct {
	Name     string // of the lane, in the store
	Pipeline string
	Owner    string // host name and process, for people
	Sink     sdk.Sink
	// DurableFlush: the sink's receipts promise nothing. They only release the
	// buffer, and coverage follows what the sink says that it has flushed.
	DurableFlush bool
	Store        sdk.RecoveryStore // the primary-raw sink's
	// Buffer bounds the bytes of the frames that are held.
	Buffer int64
	// Attempts is how often a span that the sink refused is sent before it is
	// given up.
	Attempts int
	// MaxAckDelay is how long a batch may wait for its receipt before a Flush
	// asks for it.
	MaxAckDelay time.Duration
	Limits      sdk.Limits
	Logger      *slog.Logger
	// Sent hears of each batch that a session is sent, Answered how long it was
	// until the last of its answers came. They are called one at a time, and must
	// neither block nor call the lane.
	Sent     func(*sdk.Batch)
	Answered func(time.Duration)
}

// Lane is one secondary's live lane. Its methods are safe for concurrent use
// and, but for Run, Settle and Drain, never block.
type Lane struct {
	cfg Config
	log *slog.Logger

	wakeWriter, wakeFlusher, wakeRecorder, wakeDrain chan struct{}
	recording                                        chan struct{} // held by who records

	mu      sync.Mutex
	queue   []*piece            // to be sent
	later   map[*piece]struct{} // refused; they wait for their next attempt
	ses     *session            // the one that is open
	last    uint64              // piece
	bytes   int64               // of all pieces that are held
	streams map[sdk.Stream]*stream
	drain   bool // nothing more is taken
	closed  bool // nothing more is recorded
	stat    Status
}

// piece is a batch on its way, until each of its spans is settled.
type piece struct {
	id       uint64
	batch    *sdk.Batch
	rows     []sdk.RowRange // of each span
	open     []bool         // of each span: not settled
	asked    []bool         // of each span: sent in this session and not answered
	stale    []bool         // of each span: its run was dropped; not sent any more
	attempts int
	freed    bool
	sent     bool      // in this session or an earlier one: it may have landed
	at       time.Time // when it was sent last
}

// stream is what the lane knows of one stream.
type stream struct {
	// frontier is raw's: everything below it was offered, or never will be.
	// stored is the live floor that the store has.
	frontier, stored int64
	// held and aside are settled and not recorded.
	held, aside []coverage.Interval
	dropped     bool
}

// Status is where a lane stands. Counts are of this process.
type Status struct {
	Name      string
	Buffered  int64 // bytes
	Open      bool  // a session is
	Delivered int64 // rows that the sink answered
	Unflushed int64 // positions that it has and may lose: not coverage yet
	Sheds     int64 // batches that found no room
	ShedRows  int64
	SetAside  int64 // rows that the sink refused for good
	GivenUp   int64 // rows that it refused again and again
	// Unanswered are rows that the sink had been sent and had not answered when
	// the lane ended: recovery leaves them alone until a host has their streams.
	Unanswered int64
	Restarts   int64
	Err        error // why the last session ended
}

// New returns a lane that does nothing until Run.
func New(cfg Config) *Lane {
	if cfg.Sent == nil {
		cfg.Sent = func(*sdk.Batch) {}
	}
	if cfg.Answered == nil {
		cfg.Answered = func(time.Duration) {}
	}
	signal := func() chan struct{} { return make(chan struct{}, 1) }
	return &Lane{cfg: cfg, log: cfg.Logger.With("sink", cfg.Name), wakeWriter: signal(), wakeFlusher: signal(), wakeRecorder: signal(),
		wakeDrain: signal(), recording: signal(), streams: map[sdk.Stream]*stream{}, later: map[*piece]struct{}{}, stat: Status{Name: cfg.Name}}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Begin says that a run of s starts at floor, which is raw's first hole; the
// store has it as the lane's live floor already.
func (l *Lane) Begin(s sdk.Stream, floor int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.stream(s)
	st.dropped = false
	st.frontier, st.stored = max(st.frontier, floor), max(st.stored, floor)
}

func (l *Lane) stream(s sdk.Stream) *stream {
	st := l.streams[s]
	if st == nil {
		st = &stream{}
		l.streams[s] = st
	}
	return st
}

// Offer hands over spans that raw holds now, and the rows of each. The lane
// calls b.Free when it is done with the frame, at once if it sheds the batch.
// Its spans' epochs must be zero: they are raw's.
func (l *Lane) Offer(b *sdk.Batch, rows []sdk.RowRange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drain || l.bytes+b.Bytes() > l.cfg.Buffer {
		l.shed(rows)
		b.Release()
		return
	}
	l.last++
	l.bytes += b.Bytes()
	l.queue = append(l.queue, &piece{id: l.last, batch: b, rows: rows, open: slices.Repeat([]bool{true}, len(b.Spans)), stale: make([]bool, len(b.Spans))})
	wake(l.wakeWriter)
}

// shed counts a batch that is left to recovery. l.mu is held.
func (l *Lane) shed(rows []sdk.RowRange) {
	l.stat.Sheds++
	for _, r := range rows {
		l.stat.ShedRows += int64(r.To - r.From)
	}
}

// Advance says how far raw holds everything of s, after it was offered.
func (l *Lane) Advance(s sdk.Stream, frontier int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st := l.streams[s]; st != nil && !st.dropped && frontier > st.frontier {
		st.frontier = frontier
		wake(l.wakeRecorder)
	}
}

// Drop ends a stream's run: what of it was not sent is not sent any more. What
// is in flight is settled as it is answered.
func (l *Lane) Drop(s sdk.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.stream(s)
	if st.dropped {
		return
	}
	st.dropped = true
	l.markStale(s)
	l.dropQueued()
	// What is in flight may still land: the floor stays below it, also if its
	// session dies before it is answered.
	st.frontier = min(st.frontier, l.lowestOpen(s))
	wake(l.wakeRecorder)
}

// markStale says of what is held of s that its run is over: the stream may begin
// anew before it comes back, and recovery has it then. l.mu is held.
func (l *Lane) markStale(s sdk.Stream) {
	mark := func(p *piece) {
		for i, sp := range p.batch.Spans {
			p.stale[i] = p.stale[i] || sp.Stream == s
		}
	}
	for _, p := range l.queue {
		mark(p)
	}
	for p := range l.later {
		mark(p)
	}
	if l.ses != nil {
		for _, p := range l.ses.sent {
			mark(p)
		}
	}
}

// free gives a piece's memory back if none of it is open. l.mu is held.
func (l *Lane) free(p *piece) bool {
	if slices.Contains(p.open, true) {
		return false
	}
	if !p.freed {
		p.freed = true
		l.bytes -= p.batch.Bytes()
		p.batch.Release()
	}
	wake(l.wakeDrain)
	return true
}

// Status returns where the lane stands.
func (l *Lane) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stat
	s.Buffered, s.Open = l.bytes, l.ses != nil
	if l.ses != nil {
		s.Unflushed = l.ses.written.positions()
	}
	return s
}
