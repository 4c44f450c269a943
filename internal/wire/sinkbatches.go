package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// batch takes a batch that the host sent. It never blocks: queue holds as many
// batches as there is credit for.
func (r *sinkRun) batch(m *twgpb.SinkBatch) error {
	switch {
	case !r.opened.Load():
		return violation("batch %d before Opened", m.GetSeq())
	case r.stopped.Load():
		return violation("batch %d after Stop", m.GetSeq())
	case m.GetSession() != r.open.Session:
		return violation("batch %d is of session %d, this is session %d", m.GetSeq(), m.GetSession(), r.open.Session)
	}
	b, err := fromSinkBatch(m)
	if err != nil {
		return err
	}
	if !r.window.spend(b.Bytes()) {
		return violation("batch %d was sent without credit", b.Seq)
	}
	e, err := r.ledger.add(b, nil)
	if err != nil {
		return err
	}
	select {
	case r.queue <- queued{b, e}:
		return nil
	default:
		return violation("batch %d was sent without credit", b.Seq)
	}
}

// write gives the batches to the sink, one at a time, and grants their credit
// again.
func (r *sinkRun) write(w sdk.Writer) error {
	for {
		select {
		case <-r.ctx.Done():
			return nil
		case b := <-r.queue:
			if b.Batch == nil {
				return nil
			}
			if err := r.writeOne(w, b); err != nil {
				return err
			}
		}
	}
}

func (r *sinkRun) writeOne(w sdk.Writer, b queued) error {
	bytes := b.Bytes() // a receipt may release the batch before Write returns
	seq := b.Seq
	if err := w.Write(r.ctx, b.Batch); err != nil {
		return err
	}
	r.release(b.entry)
	r.flush.wrote(seq)
	if err := r.window.add(bytes, 1); err != nil {
		return err
	}
	r.out.send(sinkCredit(bytes, 1)) // a failure is the receiver's to explain
	return nil
}

// release gives a batch's memory back once Write has returned and all its
// outcomes are known.
func (r *sinkRun) release(e *entry) {
	if r.ledger.drop(e) {
		e.batch.Release()
	}
}

// drain releases what no Write has seen.
func (r *sinkRun) drain() {
	for {
		select {
		case b := <-r.queue:
			if b.Batch != nil {
				b.Release()
			}
		default:
			return
		}
	}
}

// report checks a receipt of the sink's and sends it. A sink that answers what
// it was not asked, or twice, ends its session: the host must not believe it.
func (r *sinkRun) report(rc sdk.Receipt) {
	if r.closed.Load() || r.ctx.Err() != nil {
		return
	}
	if rc.Session != r.open.Session {
		r.cancel(violation("the sink answered session %d in session %d", rc.Session, r.open.Session))
		return
	}
	e, out, err := r.answer(rc)
	if err != nil {
		r.cancel(err)
		return
	}
	r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Receipt{Receipt: out}})
	if e != nil {
		r.release(e)
	}
}

func (r *sinkRun) answer(rc sdk.Receipt) (*entry, *twgpb.Receipt, error) {
	spans, err := r.ledger.find(rc.Seq)
	if err != nil {
		return nil, nil, err
	}
	outcomes, err := place(rc.Seq, spans, rc.Outcomes)
	if err != nil {
		return nil, nil, err
	}
	if !r.server.s.written.Load() { // the host takes this sink's receipts for no more than that anyway
		for i := range outcomes {
			if outcomes[i].Kind == sdk.Written {
				outcomes[i].Kind = sdk.Durable
			}
		}
	}
	e, err := r.ledger.answer(rc.Seq, outcomes)
	return e, toReceipt(rc.Session, rc.Seq, spans, outcomes), err
}

// flushed checks what the sink calls durable and tells the host, if it knows
// of that.
func (r *sinkRun) flushed(seq uint64) {
	if r.closed.Load() || r.ctx.Err() != nil {
		return
	}
	if err := r.ledger.flush(seq); err != nil {
		r.cancel(err)
		return
	}
	if r.server.s.written.Load() {
		r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Flushed{Flushed: &twgpb.Flushed{Session: r.open.Session, Seq: seq}}})
	}
}
