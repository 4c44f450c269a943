package pipeline

import (
	"fmt"
	"time"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// stream is an assignment of a stream: from Assigned until it is revoked,
// lost or assigned again. Owned by the loop.
type stream struct {
	// key is the name that the store has for the stream, once it was started:
	// spans and rows carry it. The source's own is in assignment.
	key        sdk.Stream
	assignment sdk.Assignment
	run        uint64 // 0: not started yet
	epoch      sdk.Epoch
	starter    *starter // who starts it, or did
	ended      bool
	// end is where the source last said that the stream ends; target what it
	// said first, which "caught up" means. -1: not said yet.
	end, target int64
	ends        ends
	// base is the newest position that is committed. proof is what may be
	// committed to show that the source still owns the stream.
	base, proof       ackgate.Committable
	hasBase, hasProof bool
	// held is what the sink is known to hold since the run was started: all
	// below its start, and what was answered as durable.
	held coverage.Set
	gap  *sdk.Gap
	// cutAs, after the log was cut, is the name under which the stream goes on.
	cutAs sdk.Stream
	// sawAt is how far run sawRun had come when pressure last looked.
	sawRun uint64
	sawAt  int64
	fences []time.Time
	load   *flow.Stream // what it expands to; nil: not started
	owners []string     // who fenced it, for people
}

func (st *stream) seeEnd(end int64) {
	st.end = end
	st.ends.add(time.Now(), end)
	if st.target < 0 {
		st.target = end
	}
}

// ownCommit is the newest position that this host committed since the stream
// was assigned.
func (st *stream) ownCommit() int64 {
	if !st.hasBase {
		return sdk.NoPosition
	}
	return st.base.Next()
}

// committed is what the source's server holds.
func (st *stream) committed() int64 {
	if st.hasBase {
		return st.base.Next()
	}
	return st.assignment.Committed
}

func (p *Pipeline) allStreams() []*stream {
	out := make([]*stream, 0, len(p.streams))
	for _, st := range p.streams {
		out = append(out, st)
	}
	return out
}

// assigned takes streams that the source may read now, and starts them.
func (p *Pipeline) assigned(src *source, as []sdk.Assignment) {
	if p.stopping != nil {
		return
	}
	sts := make([]*stream, len(as))
	for i, a := range as {
		if old := p.streams[a.Stream]; old != nil {
			p.drop(old)
		}
		sts[i] = &stream{key: a.Stream, assignment: a, end: -1, target: -1}
		p.streams[a.Stream], p.byKey[a.Stream] = sts[i], sts[i]
	}
	p.start(src, sts, false)
}

// drop ends an assignment: before anything new is acquired, the gate forgets
// the old run, and nothing of it is sent again.
func (p *Pipeline) drop(st *stream) {
	p.endRun(st)
	if p.live(st) {
		delete(p.streams, st.assignment.Stream)
	}
	p.unkey(st)
}

func (p *Pipeline) unkey(st *stream) {
	if p.byKey[st.key] == st {
		delete(p.byKey, st.key)
	}
}

// rekey notes the name that the store has for a stream.
func (p *Pipeline) rekey(st *stream, name sdk.Stream) {
	p.unkey(st)
	st.key, st.cutAs = name, sdk.Stream{}
	p.byKey[name] = st
}

// endRun ends a stream's run, or the attempt to start one, but not its
// assignment.
func (p *Pipeline) endRun(st *stream) {
	st.starter = nil
	if st.run == 0 {
		return
	}
	p.gate.Forget(st.run)
	p.flow.adm.Leave(st.load)
	st.load = nil
	delete(p.byRun, st.run)
	p.out.dropRun(p, st.run)
	for _, l := range p.lanes {
		l.Drop(st.key)
	}
	st.run = 0
}

// live reports whether st is still what its stream is assigned as.
func (p *Pipeline) live(st *stream) bool { return p.streams[st.assignment.Stream] == st }

// batch takes a batch from the source into the gate and on to the sink.
func (p *Pipeline) batch(src *source, it *item) {
	if p.src != src {
		it.batch.Release() // its credit went with the source
		return
	}
	p.flow.see(p.waiting())
	ok := p.admit(src, it)
	tracked, err := p.liveSpans(it)
	if err == nil && len(tracked) > 0 && ok {
		err = p.track(it, tracked)
	}
	if err != nil {
		src.fail(protocolErrorOf("source", "%w", err))
	}
	if err != nil || len(tracked) == 0 || !ok {
		p.release(it)
	}
}

// liveSpans fills in epochs and leaves out spans of old runs: what belongs to
// an old run is dropped. A stopping pipeline takes nothing more.
func (p *Pipeline) liveSpans(it *item) ([]sdk.Span, error) {
	var tracked []sdk.Span
	for i := range it.batch.Spans {
		s := &it.batch.Spans[i]
		st := p.byRun[s.Run]
		if st == nil || p.stopping != nil {
			it.left[i] = nil
			continue
		}
		if st.key != s.Stream {
			return nil, fmt.Errorf("run %d is of %s, not of %s", s.Run, st.key, s.Stream)
		}
		s.Epoch = st.epoch
		if flow.Guarded {
			p.flow.adm.Sample(st.load, p.flow.expansion(it.batch, s))
		}
		tracked = append(tracked, *s)
	}
	return tracked, nil
}

func (p *Pipeline) track(it *item, spans []sdk.Span) error {
	if o := it.oversize; o != nil {
		p.haltRecord(o.stream, o.position, p.tooLarge(it))
		p.release(it)
		return nil
	}
	if len(p.lanes) > 0 {
		it.share()
	}
	p.out.lastItem++
	it.id, it.came = p.out.lastItem, time.Now()
	if err := p.gate.Track(it.id, spans); err != nil {
		return err
	}
	p.sawFirstRecord(it)
	p.out.add(it)
	p.send(it)
	return nil
}

// release gives a batch's memory and budget back.
func (p *Pipeline) release(it *item) {
	if it.batch == nil {
		return
	}
	p.flow.adm.Release(it.batch.Bytes(), it.batch.Frame.NumRecords())
	it.batch.Release()
	it.batch = nil
}
