package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
)

// maxFences within a minute are a duel.
const maxFences = 3

// fenced handles a fence against the current epoch: somebody else acquired
// the stream. Two believers must not duel, so the source has to prove that it
// still owns the stream, and after three fences in a minute a person decides.
func (p *Pipeline) fenced(st *stream, reason string) {
	now := time.Now()
	recent := st.fences[:0]
	for _, t := range st.fences {
		if now.Sub(t) < time.Minute {
			recent = append(recent, t)
		}
	}
	st.fences = append(recent, now)
	if len(st.fences) >= maxFences || p.cfg.SourceCaps.Position == sdk.PositionStore {
		p.endRun(st)
		p.halt(fmt.Errorf("stream %s was fenced %d times within a minute: two hosts believe that they own it: this one (%s) and %v. Stop one of them. (%s)",
			st.key, len(st.fences), p.cfg.Owner, st.owners, reason))
		return
	}
	p.log.Warn("fenced; proving ownership before the stream is acquired again", "stream", st.key.String(), "reason", reason)
	p.startAgain(st, true)
}

// startAgain ends a stream's run, here and at the source, and starts the
// stream anew. While the source still has the run it would refuse a proof.
func (p *Pipeline) startAgain(st *stream, prove bool) {
	run := st.run
	p.endRun(st)
	src := p.src
	if src == nil || !src.isOpen() {
		return // it will be assigned anew
	}
	p.goRun(func() {
		ctx, cancel := context.WithTimeout(src.life, closeTimeout)
		defer cancel()
		if err := src.reader.Drop(ctx, []uint64{run}); err != nil {
			p.log.Debug("drop", "error", err)
		}
		p.box.post(func() {
			if p.live(st) && p.src == src && p.stopping == nil {
				p.start(src, []*stream{st}, prove)
			}
		})
	})
}
