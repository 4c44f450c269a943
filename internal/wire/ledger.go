package wire

import (
	"sync"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// ledger knows which spans of which batches of one sink session still wait
// for an outcome. Both sides keep one: the host's refuses receipts that answer
// what was never asked or was answered before.
type ledger struct {
	parts bool // spans may be answered in parts

	mu      sync.Mutex
	last    uint64
	flushed uint64 // everything up to it is on stable storage
	batches map[uint64]*entry
}

// entry is an unanswered batch.
type entry struct {
	spans []pending
	left  int
	batch *sdk.Batch    // the plugin's side: to be released
	sent  chan struct{} // the host's side: closed when its memory was read
	held  int           // what keeps batch from being released
}

type pending struct {
	sdk.Span
	done bool
	got  coverage.Set // the parts that were answered
}

func newLedger(g sdk.Granularity) *ledger {
	return &ledger{parts: g == sdk.GranularityRecord, batches: map[uint64]*entry{}}
}

// add takes a batch whose seq must be above all before.
func (l *ledger) add(b *sdk.Batch, sent chan struct{}) (*entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Seq <= l.last {
		return nil, violation("batch %d follows batch %d; numbers must ascend within a session", b.Seq, l.last)
	}
	if len(b.Spans) == 0 {
		return nil, violation("batch %d has no spans", b.Seq)
	}
	e := &entry{spans: make([]pending, len(b.Spans)), left: len(b.Spans), batch: b, sent: sent, held: 2}
	for i, s := range b.Spans {
		e.spans[i].Span = s
	}
	l.last = b.Seq
	l.batches[b.Seq] = e
	return e, nil
}

// oldest is the lowest seq that has no final outcome yet; 0: none.
func (l *ledger) oldest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	low := uint64(0)
	for seq := range l.batches {
		if low == 0 || seq < low {
			low = seq
		}
	}
	return low
}

// flush notes that everything up to seq is on stable storage. It is told only
// of what was answered.
func (l *ledger) flush(seq uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case seq > l.last:
		return violation("Flushed names batch %d, which was never sent", seq)
	case seq < l.flushed:
		return violation("Flushed names batch %d after batch %d", seq, l.flushed)
	}
	for open := range l.batches {
		if open <= seq {
			return violation("Flushed names batch %d, and batch %d has no outcome yet", seq, open)
		}
	}
	l.flushed = seq
	return nil
}

func (l *ledger) newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// answer records the outcomes of one receipt and returns the batch if that
// completes it. After an error nothing of the session counts.
func (l *ledger) answer(seq uint64, outcomes []placed) (*entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.entry(seq)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if err := e.answer(seq, o, l.parts); err != nil {
			return nil, err
		}
	}
	if e.left > 0 {
		return nil, nil
	}
	delete(l.batches, seq)
	return e, nil
}

func (e *entry) answer(seq uint64, o placed, parts bool) error {
	p := &e.spans[o.span]
	i := coverage.Interval{From: o.From, Next: o.Next}
	whole := o.From == p.From && o.Next == p.Next
	switch {
	case !whole && !parts:
		return violation("batch %d answers [%d,%d) of the span [%d,%d) of %s; parts need granularity record", seq, o.From, o.Next, p.From, p.Next, p.Stream)
	case p.done || len(p.got.HeldWithin(i)) > 0:
		return violation("batch %d: [%d,%d) of %s has a second outcome (%s)", seq, o.From, o.Next, p.Stream, o.Kind)
	}
	p.got.AddHeld(i)
	if whole || p.got.Covers(coverage.Interval{From: p.From, Next: p.Next}) {
		p.done = true
		e.left--
	}
	return nil
}

// find returns the spans of a batch that still waits.
func (l *ledger) find(seq uint64) ([]pending, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.entry(seq)
	if err != nil {
		return nil, err
	}
	return e.spans, nil
}

func (l *ledger) entry(seq uint64) (*entry, error) {
	e := l.batches[seq]
	switch {
	case e != nil:
		return e, nil
	case seq > 0 && seq <= l.last:
		return nil, violation("batch %d was answered again; it had all its outcomes, or was not sent in this session", seq)
	}
	return nil, violation("a receipt for batch %d, which was never sent", seq)
}

// drop removes one hold and reports whether none is left.
func (l *ledger) drop(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.held--
	return e.held == 0
}
