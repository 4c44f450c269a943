package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
)

// maxFences within a minute are a duel.
const maxFences = 3

// fenced handles a fence against the current epoch: somebody else acquired
// the stream. Two believers must not duel, so the source has to prove that it
// still owns the stream, and after three fences in a minute a person decides.
func (p *Pipeline) fenced(st *stream, reason string) {
	st.fences = recentFences(st.fences)
	if p.storeManaged() {
		p.endRun(st)
		p.halt(p.secondReader(st.key, reason))
		return
	}
	if len(st.fences) >= maxFences {
		p.endRun(st)
		p.halt(fmt.Errorf("stream %s was fenced %d times within a minute: two hosts believe that they own it: this one (%s) and %v. Stop one of them. (%s)",
			st.key, len(st.fences), p.cfg.Owner, st.owners, reason))
		return
	}
	p.log.Warn("fenced; proving ownership before the stream is acquired again", "stream", st.key.String(), "reason", reason)
	p.startAgain(st, true)
}

// recentFences adds a fence to those of the last minute.
func recentFences(fences []time.Time) []time.Time {
	now := time.Now()
	return append(slices.DeleteFunc(fences, func(t time.Time) bool { return now.Sub(t) >= time.Minute }), now)
}

// storeManaged: no server of the source's shares out its streams, so its
// commits prove nothing, and who is fenced must not acquire again.
func (p *Pipeline) storeManaged() bool { return p.cfg.SourceCaps.Position == sdk.PositionStore }

// comesOnce: what the source has delivered cannot be had again, and its
// positions are given by arrival, from where the store's coverage ends.
func (p *Pipeline) comesOnce() bool {
	return p.storeManaged() && p.cfg.SourceCaps.Origin == sdk.OriginNonReplayable
}

// secondReader is a fence where only a person decides who reads a stream. The
// sink's reason names the host that has it now.
func (p *Pipeline) secondReader(s sdk.Stream, reason string) error {
	return fmt.Errorf("stream %s was taken over: %s. This host (%s) had it before, and nothing shares out the streams of a source whose position the sink keeps: "+
		"two hosts that read the same ones are a mistake. Leave one of them running. If there is no other, the sink was restored to an older state: start this one again",
		s, reason, p.cfg.Owner)
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
