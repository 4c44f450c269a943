package pipeline

import (
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
)

// This file is the broker: what is produced, what is kept, who may read.

// alive are the streams that are still there. The lock is held.
func (s *sim) alive() (out []*simStream) {
	for _, p := range s.streams {
		if !p.deleted {
			out = append(out, p)
		}
	}
	return out
}

// produce appends records: in bursts, with hours of silence, to a few streams
// more than to others, as the world is. It ends with the storm.
func (s *sim) produce(stop <-chan struct{}) {
	for {
		wait := s.within("producer", s.pr.beat)
		if s.pr.idle && s.n("producer", 200) == 0 {
			wait += s.within("producer", 2*time.Hour)
		}
		select {
		case <-time.After(wait):
		case <-stop:
			return
		}
		s.mu.Lock()
		s.grow()
		s.mu.Unlock()
	}
}

// grow produces, unless too much is waiting already. The lock is held.
func (s *sim) grow() {
	ps := s.alive()
	if len(ps) == 0 {
		return
	}
	i := s.roll("producer", len(ps))
	if s.pr.skew {
		i = min(i, s.roll("producer", len(ps)), s.roll("producer", len(ps)))
	}
	p := ps[i]
	waiting := int64(0)
	for _, q := range ps {
		waiting += q.end - max(q.cov.FirstHole(), q.start)
	}
	if waiting > s.pr.backlog {
		return
	}
	n := 1 + s.die("producer").Int64N(s.pr.burst)
	p.end += n
	s.step("produced", "producer", p, p.end-n, p.end)
}

// commit takes a mark of a reader, and prunes what was committed: what is not in
// raw then is nowhere. The lock is held.
func (s *sim) commit(r *simReader, m sdk.Mark) error {
	p, who := s.byKey[m.Stream], r.h.name+"/commit"
	run := r.runs[m.Run]
	switch {
	case p == nil || p.deleted || !r.owns(p):
		s.step("commit of another's", who, p, m.Next, 0)
		return sdk.Errorf(sdk.KindFenced, "commit", "%s is not assigned", m.Stream)
	case r.dropped[m.Run] || s.pr.named && run == nil || !s.pr.named && p.run != 0 && p.run != m.Run:
		s.step("commit of an old run", who, p, m.Next, 0)
		return sdk.Errorf(sdk.KindFenced, "commit", "run %d has ended", m.Run)
	case s.fault(who, 20, "commit refused"):
		return sdk.Errorf(sdk.KindRetryable, "commit", "the coordinator is loading")
	}
	s.step("commit", who, p, m.Next, p.committed)
	if hole := p.cov.FirstHole(); m.Next > hole {
		s.wrong("INV1: %s committed %d of %s, raw has all below %d", r.h.name, m.Next, p.name, hole)
	}
	if m.Next > p.end {
		s.wrong("INV2: %s committed %d of %s, which ends at %d", r.h.name, m.Next, p.name, p.end)
	}
	if run != nil && m.Next < run.committed {
		s.wrong("INV2: committed %d of %s after %d in one run", m.Next, p.name, run.committed)
	}
	p.committed = m.Next
	if s.pr.named { // it is the reader's word for what may go; nobody stores it
		p.committed = sdk.NoPosition
	}
	if run != nil {
		run.committed = m.Next
	}
	if !s.pr.lazyPrune || s.roll(who, 10) == 0 {
		p.start = max(p.start, min(m.Next, p.end))
	}
	if s.fault(who, 30, "commit's answer lost") {
		return sdk.Errorf(sdk.KindRetryable, "commit", "the answer was lost")
	}
	return nil
}

// retain removes records that nobody has read yet.
func (s *sim) retain() {
	ps := s.alive()
	if len(ps) == 0 {
		return
	}
	p := ps[s.roll("conductor", len(ps))]
	if n := p.end - p.start; n > 0 {
		p.start += s.die("conductor").Int64N(n + 1)
		p.forced = max(p.forced, p.start)
		s.step("retention", "broker", p, p.start, 0)
	}
}

// deleteTopic deletes a topic; perhaps one of the same name is created. The
// lock is held.
func (s *sim) deleteTopic() {
	ps := s.alive()
	if len(ps) == 0 || len(s.streams) > 80 {
		return
	}
	old := ps[s.roll("conductor", len(ps))].key
	marks := map[int32]int64{}
	for _, p := range ps {
		if p.key.Topic == old.Topic {
			p.deleted, p.owner, p.run = true, nil, 0
			marks[p.key.Partition] = p.committed
			s.step("topic deleted", "broker", p, p.committed, p.end)
		}
	}
	s.topics++
	if s.roll("conductor", 2) == 0 {
		s.createTopic(fmt.Sprint("t", s.topics), "i0")
		return
	}
	s.createTopic(old.Topic, fmt.Sprint("i", s.topics))
	for _, p := range s.streams {
		if at, ok := marks[p.key.Partition]; ok && p.key.Topic == old.Topic && !p.deleted && s.roll("conductor", 2) == 0 {
			p.stale, p.staleInc = at, old.Incarnation // the group's offsets outlive a topic
		}
	}
	s.did["topic created again"]++
}

// free reports whether nobody has a stream: its owner gave it up, or was not
// heard of for the time of a session. The lock is held.
func (p *simStream) free() bool {
	return p.owner == nil || p.owner.h.unheard() > sessionTimeout
}

const sessionTimeout = 8 * time.Second

// assignment is what a reader is told of a stream. The lock is held.
func (p *simStream) assignment() sdk.Assignment {
	a := sdk.Assignment{Stream: p.key, Committed: p.committed, Initial: sdk.StartEarliest}
	switch {
	case p.committed >= 0:
		a.CommittedIncarnation = p.key.Incarnation
	case p.stale >= 0:
		a.Committed, a.CommittedIncarnation = p.stale, p.staleInc
	}
	return a
}

// behind counts the positions that raw lacks or that are not committed. The lock
// is held.
func (s *sim) behind() (n int64) {
	for _, p := range s.alive() {
		if p.end > p.base {
			n += max(p.end-p.cov.FirstHole(), 0)
			if !s.pr.named {
				n += p.end - max(p.committed, p.base-1)
			}
		}
	}
	return n
}
