package pipeline

import "time"

// unasked follows what was sent in a session, is not answered, and no Flush has
// asked about. Owned by the loop.
type unasked struct {
	flushed uint64 // up to which seq a Flush has asked for receipts
	charge  int64  // of what came after it
	first   uint64 // no batch before it is unasked
}

// flushIfDue asks for receipts when a sink that acknowledges at close would
// otherwise wait for data that admission holds back, and the reverse. What a
// sink answers by itself needs no Flush: it would make two small files out of a
// large one.
func (p *Pipeline) flushIfDue() {
	o := &p.out
	if o.ses == nil || o.unasked.charge == 0 {
		return
	}
	switch {
	case p.flow.pressure.Paused() || p.stopping != nil || len(p.revokes) > 0 || len(p.gapped) > 0 ||
		p.cfg.UntilCaughtUp && p.allReceived() || time.Since(o.oldestUnasked()) >= p.cfg.MaxAckDelay:
		o.flush(o.lastSeq)
	case o.ses.isBelow(o.unasked.charge - p.flow.adm.Limit()/2):
		// Only what the sink has got, or is about to: it would wait for the rest.
		if to := o.ses.taken(); to > o.unasked.flushed {
			o.flush(to)
		}
	}
}

func (o *outbound) flush(to uint64) {
	o.unasked = unasked{flushed: to, first: to + 1}
	for seq := to + 1; seq <= o.lastSeq; seq++ {
		if s := o.sent[seq]; s != nil {
			o.unasked.charge += s.charge
		}
	}
	o.ses.flush(to)
}

// oldestUnasked is when the oldest batch was sent that nobody has asked about.
func (o *outbound) oldestUnasked() time.Time {
	u := &o.unasked
	for ; u.first <= o.lastSeq; u.first++ {
		if s := o.sent[u.first]; s != nil {
			return s.at
		}
	}
	return time.Now()
}

// answered notes that a batch is answered in full.
func (u *unasked) answered(seq uint64, charge int64) {
	if seq > u.flushed {
		u.charge -= charge
	}
}
