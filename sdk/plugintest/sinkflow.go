package plugintest

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// floodBytes is what sinkCredit sends without asking for receipts, at most.
var floodBytes int64 = 40 << 20

const floodBatch = 512 << 10

// sinkCredit sends until the sink takes no more, or a lot was sent, and only
// then asks for receipts. The Flush has to get through, and the batch that is
// waiting for credit has to get on.
func sinkCredit(r *sinkRig) {
	s := r.open()
	var all []*sdk.Batch
	for at := int64(0); at < floodBytes/floodBatch; at++ {
		all = append(all, r.batch(streamA, 8*at, 8*at+8, sized(8*at, 8, floodBatch/8)))
	}
	done := make(chan error, 1)
	go func() { done <- s.flood(all) }()
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for sent := uint64(0); ; {
		select {
		case err := <-done:
			must(err, "write beside Flush")
			s.flush(s.seq)
			for seq := range all {
				s.durable(uint64(seq + 1))
			}
			s.close()
			r.holds(false, all...)
			return
		case <-tick.C:
			s.get(func() { sent = s.seq })
			s.flush(sent)
		}
	}
}

func (s *sinkSession) flood(all []*sdk.Batch) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for _, b := range all {
		if _, err := s.try(ctx, b); err != nil {
			return s.why(err)
		}
	}
	return nil
}

func sinkFlush(r *sinkRig) {
	s := r.open()
	s.flush(0)
	one, two := r.full(streamA, 0, 10), r.full(streamA, 10, 20)
	s.deliver(one)
	s.flush(s.seq) // has been answered
	s.deliver(two)
	s.close()
	r.holds(false, one, two)
}

func sinkFlushOvertakes(r *sinkRig) {
	s := r.open()
	bs := []*sdk.Batch{r.full(streamA, 0, 10), r.full(streamA, 10, 20), r.full(streamB, 0, 5)}
	s.flush(3)
	s.within(quiet/5, func() bool { return false }) // it arrives before them
	for _, b := range bs {
		s.send(b)
	}
	s.durable(1, 2, 3)
	s.close()
	r.holds(false, bs...)
}

func sinkRedelivery(r *sinkRig) {
	a, b := r.first(), r.full(streamA, 5, 15)
	s := r.open()
	s.send(a)
	s.send(b) // half of it is on its way
	s.flush(2)
	s.durable(1, 2)
	s.deliver(a) // all of it is there
	s.close()
	s = r.open()
	s.deliver(a, b)
	r.restart()
	s = r.open()
	s.deliver(b, a)
	s.close()
	r.holds(true, a, b)
}

// first starts the process, which has to issue epochs before a batch is made.
func (r *sinkRig) first() *sdk.Batch {
	r.start()
	return r.full(streamA, 0, 10)
}

func sinkStop(r *sinkRig) {
	s := r.open()
	var all []*sdk.Batch
	for p := int64(0); p < 40; p++ {
		all = append(all, r.both(20*p, 20*p+20))
		s.send(all[p])
	}
	s.close()
	for seq := range all {
		if n := len(s.answers[uint64(seq+1)]); n != 2 {
			failf("Stopped came when batch %d had %d outcomes of 2", seq+1, n)
		}
		s.durable(uint64(seq + 1))
	}
	s.silent()
	r.holds(false, all...)
}

func sinkAbort(r *sinkRig) {
	s := r.open()
	lost, kept := r.full(streamA, 0, 10), r.full(streamA, 0, 12)
	s.send(lost)
	s.abort()
	next := r.open()
	next.deliver(kept)
	s.silent()
	next.close()
	r.holds(true, kept)
}

func sinkOneSession(r *sinkRig) {
	s := r.open()
	b := r.full(streamA, 0, 10)
	s.send(b)
	type opened struct {
		s   *sinkSession
		err error
	}
	second := make(chan opened, 1)
	go func() {
		ctx, cancel := soon()
		defer cancel()
		n, err := r.tryOpen(ctx, sdk.GranularityBatch)
		second <- opened{n, err}
	}()
	select {
	case n := <-second:
		if n.err == nil {
			failf("a second session is open while the first is")
		}
		s.close() // a refusal is right, too
		return
	case <-time.After(quiet):
	}
	s.close()
	n := <-second
	must(n.err, "open a session once the one before it has ended")
	s.silent()
	n.s.deliver(r.full(streamB, 0, 10))
}

func sinkFailure(r *sinkRig) {
	s := r.open()
	before, after := r.full(streamA, 0, 10), r.full(streamA, 10, 20)
	s.deliver(before)
	r.restart() // so that nothing is open any more
	s = r.open()
	repair := r.cfg.Break(r.t, r.target)
	ctx, cancel := soon()
	defer cancel()
	seq, err := s.try(ctx, after)
	s.flush(seq)
	s.within(patience, func() bool { return s.failed != nil || len(s.answers[seq]) > 0 && !s.caps.FlushesLater() })
	s.get(func() { err = s.judgeFailure(seq, err) })
	repair()
	must(err, "write to a target that fails")
	s.abort()
	r.open().deliver(after)
	r.holds(true, before, after)
}

// judgeFailure: the batch came back as retryable, or the session ended with
// an error that is worth another try.
func (s *sinkSession) judgeFailure(seq uint64, err error) error {
	for _, o := range s.answers[seq] {
		if o.Kind != sdk.Retryable && o.Kind != sdk.Written {
			return sdk.Errorf(sdk.KindFatal, "", "[%d,%d) is %s", o.From, o.Next, o.Kind)
		}
	}
	if s.flushed >= seq {
		return sdk.Errorf(sdk.KindFatal, "", "it is said to be flushed")
	}
	if s.failed != nil {
		err = s.failed
	}
	if err != nil && sdk.KindOf(err) != sdk.KindRetryable {
		return sdk.Errorf(sdk.KindFatal, "", "the error is %s: %w", sdk.KindOf(err), err)
	}
	if err == nil && (len(s.answers[seq]) == 0 || s.caps.FlushesLater()) {
		return sdk.Errorf(sdk.KindFatal, "", "nothing was said within %v", patience)
	}
	return nil
}
