package flow

import "time"

// AdmissionConfig is what an Admission enforces. Sizes are in bytes.
type AdmissionConfig struct {
	// Budget is what may be held.
	Budget int64
	// Overdraft is what one frame may pass the budget by. A record that does not
	// fit into what is left is so seen at all; one that passes this too is
	// oversized.
	Overdraft int64
	// ItemOverhead is what is kept beside a frame, RowOverhead beside each of
	// its rows.
	ItemOverhead, RowOverhead int64
	// RecordSize is record_size_est_bytes: the least that a record is taken for,
	// and what the first one is expected to be.
	RecordSize int64
	WarmUp     WarmUp
}

// WarmUp: a host that starts before a deep backlog must not read at full
// capacity before it knows what the records expand to (F5).
type WarmUp struct {
	// Fraction of the budget to begin with; 1: no warm-up.
	Fraction float64
	// Acks is how many receipts end it, Timeout how long after the first grant
	// it ends by itself.
	Acks    int
	Timeout time.Duration
}

// Admission is a semaphore in bytes of what is held. Credit that was granted to
// the source and not used is reserved as what it is expected to expand to; what
// has come is charged as what it takes. It never blocks: who owns it waits for
// batches and receipts in one select, so that a full budget stops no receipt
// (F7), and grants what Grantable says. Not safe for concurrent use.
type Admission struct {
	cfg      AdmissionConfig
	fraction float64 // of the budget that pressure leaves
	frames   int64   // bytes of the frames that are held
	used     int64   // what they are charged
	held     int     // frames
	credit   int64   // granted and not used; negative: overdrawn
	streams  []*Stream
	ratio    float64 // the largest of any stream
	seen     float64 // the largest that any stream's samples say
	samples  int     // of all streams, up to enoughSamples
	loose    bool    // ratio and seen may be too large by now
	warm     bool    // warm-up is over
	began    time.Time
	acks     int
}

// Stream is what admission knows of one stream.
type Stream struct {
	Expansion
	i int // in Admission.streams
}

// Verdict is what becomes of a batch that has come.
type Verdict uint8

const (
	// Admitted: it is charged until Release.
	Admitted Verdict = iota
	// Uncalled: it came without credit, and is charged.
	Uncalled
	// Oversized: it cannot be granted now, and is charged until its owner has
	// dealt with it.
	Oversized
)

// NewAdmission returns an Admission that holds nothing.
func NewAdmission(cfg AdmissionConfig) *Admission {
	warm := cfg.WarmUp.Fraction >= 1 || !Guarded
	// The record at the head is expected to be of that size: with nothing in
	// flight, it gets what it needs at once.
	if first := cfg.RecordSize; float64(first) > float64(cfg.Budget)*cfg.WarmUp.Fraction && first <= cfg.Budget {
		warm = true
	}
	return &Admission{cfg: cfg, fraction: 1, warm: warm, ratio: conservative, seen: 1}
}

// Join begins to count a stream.
func (a *Admission) Join() *Stream {
	s := &Stream{i: len(a.streams)}
	a.streams = append(a.streams, s)
	a.ratio = max(a.ratio, s.Ratio())
	return s
}

// Leave ends it. A stream that was never joined, or has left, does nothing.
func (a *Admission) Leave(s *Stream) {
	if s == nil || s.i < 0 {
		return
	}
	last := len(a.streams) - 1
	a.streams[s.i] = a.streams[last]
	a.streams[s.i].i = s.i
	a.streams[last] = nil
	a.streams, s.i, a.loose = a.streams[:last], -1, true
}

// Sample says what a delivered byte of the stream took.
func (a *Admission) Sample(s *Stream, ratio float64) {
	before, seen := s.Ratio(), s.Seen()
	s.Add(ratio)
	a.samples = min(a.samples+1, enoughSamples)
	a.loose = a.loose || s.Ratio() < before && before >= a.ratio || s.Seen() < seen && seen >= a.seen
	a.ratio, a.seen = max(a.ratio, s.Ratio()), max(a.seen, s.Seen())
}

// Charge is what a frame with that many rows takes of the budget. Alone of all
// methods, any goroutine may call it.
func (a *Admission) Charge(frame int64, rows int) int64 {
	return max(frame+a.cfg.ItemOverhead+int64(rows)*a.cfg.RowOverhead, int64(rows)*a.cfg.RecordSize)
}

// Receive charges a frame that has come.
func (a *Admission) Receive(frame int64, rows int) Verdict {
	v, need := Admitted, a.Charge(frame, rows)
	switch {
	case a.credit <= 0:
		v = Uncalled
	case a.used+need <= a.Limit():
	case a.held == 0 && need <= a.cfg.Budget:
		a.warm = true // it fits the budget, and nothing that is in flight would ever end the warm-up
	case frame > a.cfg.Overdraft:
		v = Oversized
	}
	a.frames += frame
	a.used += need
	a.held++
	a.credit -= frame
	return v
}

// Release gives back what Receive charged.
func (a *Admission) Release(frame int64, rows int) {
	a.frames -= frame
	a.used -= a.Charge(frame, rows)
	a.held--
}

// Acked says that a receipt made something durable.
func (a *Admission) Acked() {
	if a.warm {
		return
	}
	a.acks++
	a.warm = a.acks >= a.cfg.WarmUp.Acks
}

// Tick ends the warm-up by time, and looks for the largest ratio again if the
// stream that had it has changed. Call it about once a second.
func (a *Admission) Tick(now time.Time) {
	if !a.warm && !a.began.IsZero() && now.Sub(a.began) >= a.cfg.WarmUp.Timeout {
		a.warm = true
	}
	if !a.loose {
		return
	}
	a.loose, a.ratio, a.seen = false, 1, 1
	for _, s := range a.streams {
		a.ratio, a.seen = max(a.ratio, s.Ratio()), max(a.seen, s.Seen())
	}
	if len(a.streams) == 0 {
		a.ratio, a.samples = conservative, 0
	}
}

// Press sets the fraction of the budget that may be used from now on.
func (a *Admission) Press(fraction float64) { a.fraction = fraction }

// Limit is the budget that is in force, at least a byte.
func (a *Admission) Limit() int64 {
	f := a.fraction
	if !a.warm {
		f = min(f, a.cfg.WarmUp.Fraction)
	}
	return max(1, int64(float64(a.cfg.Budget)*f))
}

// Ahead bounds the credit that the source may have in hand, and so what its
// broker sends ahead (F9). It is small, because what the bytes expand to is an
// estimate.
func (a *Admission) Ahead() int64 {
	l := a.Limit()
	if !Guarded {
		return l
	}
	return max(l/8, min(l, 1<<20))
}

// crumb is what is not worth a message while the source still has credit.
const crumb = 256 << 10

// Grantable is what the source may be granted now. Crumbs are saved up, so that
// a large budget costs few messages; a source without credit gets any.
func (a *Admission) Grantable() int64 {
	limit := a.Limit()
	left := limit - a.used
	if left <= 0 {
		return 0
	}
	n := a.most(left) - a.credit
	if n <= 0 || a.credit > 0 && n < min(a.most(limit)/2, a.Ahead()/4, crumb) {
		return 0
	}
	return n
}

// most is the credit that the source may have with so much left.
func (a *Admission) most(left int64) int64 { return min(max(1, a.reserve(left)), a.Ahead()) }

// unproven is what it may cost to take streams with too few samples for what the
// others are. It is no more than the one frame by which a source may pass its
// credit, and so the budget, anyway.
const unproven = 1 << 20

// reserve is the credit that is expected to take what is left. Some streams have
// too few samples for good: partitions where hardly anything happens. By their
// conservative ratio alone, the credit of a small budget would be less than a
// batch, and its source would wait after each. With a large budget, nothing
// changes.
func (a *Admission) reserve(left int64) int64 {
	n := float64(left) / a.ratio
	if a.samples >= enoughSamples {
		n = max(n, min(float64(left)/a.seen, float64(left+min(unproven, a.cfg.Overdraft))/a.ratio))
	}
	return int64(n)
}

// Granted notes credit that the source was given.
func (a *Admission) Granted(now time.Time, n int64) {
	if a.began.IsZero() {
		a.began = now
	}
	a.credit += n
}

// ForgetCredit: the source that had it is gone.
func (a *Admission) ForgetCredit() { a.credit = 0 }

// Used is what is charged, Frames the bytes of the frames alone, Credit what is
// granted and not used.
func (a *Admission) Used() int64   { return a.used }
func (a *Admission) Frames() int64 { return a.frames }
func (a *Admission) Credit() int64 { return a.credit }

// Budget is the full budget, Ratio the estimate that credit is reserved with,
// and WarmingUp whether only a fraction is in force yet.
func (a *Admission) Budget() int64   { return a.cfg.Budget }
func (a *Admission) Ratio() float64  { return a.ratio }
func (a *Admission) WarmingUp() bool { return !a.warm }

// Saturation is the used part of the budget in force; above one while it is
// overdrawn.
func (a *Admission) Saturation() float64 { return float64(a.used) / float64(a.Limit()) }
