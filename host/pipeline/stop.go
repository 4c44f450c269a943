package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
)

// stopping is a stop under way: nothing more is read, what is in flight is
// flushed, answered and committed, then everything is closed.
type stopping struct {
	err error // why, if not asked for
	// drained is when what is in flight is not waited for any more: the rest of
	// the time is for closing both plugins' sessions. timer ends that too.
	drained time.Time
	timer   *time.Timer
}

// ErrShutdownTimeout: a graceful stop ran out of time. Nothing is lost: what
// was not committed is read again.
var ErrShutdownTimeout = errors.New("shutdown_timeout passed before everything in flight was durable; it will be read again")

func (p *Pipeline) stop(err error) {
	if p.stopping != nil {
		if p.stopping.err == nil {
			p.stopping.err = err
		}
		return
	}
	all := p.cfg.ShutdownTimeout
	drain := all - min(closeTimeout, all/4)
	p.stopping = &stopping{err: err, drained: time.Now().Add(drain), timer: time.AfterFunc(all, p.abandon)}
	time.AfterFunc(drain, func() { p.box.post(func() {}) }) // look again then
	p.log.Debug("stopping", "reason", err)
	for _, st := range p.allStreams() {
		if st.run == 0 {
			p.drop(st)
		}
	}
}

// halt stops because going on would break the promise.
func (p *Pipeline) halt(err error) {
	p.log.Error("halting", "error", err)
	p.stop(err)
}

// haltRecord halts because of one record; instead says what to do before "move
// the position past it".
func (p *Pipeline) haltRecord(s sdk.Stream, position int64, instead string) {
	p.halt(fmt.Errorf("pipeline %q halts at position %d of %s: %s move the committed position past it to give the record up. "+
		"Nothing at or after it was committed", p.cfg.Name, position, s, instead))
}

// alarm is loud: something that the source says and the sink says differ.
func (p *Pipeline) alarm(text string) {
	p.stat.Alarms++
	p.log.Error("ALARM: " + text)
}

// finished reports whether a stop is complete.
func (p *Pipeline) finished() bool {
	s := p.stopping
	if s == nil {
		return false
	}
	if !time.Now().Before(s.drained) {
		if s.err == nil && (len(p.out.items) > 0 || p.commits.busy) {
			s.err = ErrShutdownTimeout
		}
		return true
	}
	// With no session open there is nothing to wait for: a stop in the middle
	// of a plugin's backoff is prompt, and what is unanswered is read again.
	inFlight := len(p.out.sent) > 0 || s.err == nil && p.out.ses != nil && len(p.out.items) > 0
	return !inFlight && !p.commits.busy && len(p.revokes) == 0 && p.allCommitted()
}

// allCommitted reports whether everything durable is committed. Without a
// source there is nobody to tell; it will find out from the sink's coverage.
func (p *Pipeline) allCommitted() bool {
	if p.src == nil || !p.src.isOpen() || p.stopping.err != nil && p.commits.fails > 0 {
		return true
	}
	for _, st := range p.streams {
		if s, ok := p.gate.Run(st.run); ok && s.Frontier != s.Committed {
			return false
		}
	}
	return true
}

// finish closes the source and the sink's session in good order, while there
// is time for that.
func (p *Pipeline) finish(end context.Context) {
	p.pressed.Store(0) // recovery may go on
	p.stopSource()
	close(p.stopSink)
	if p.out.ses != nil {
		select {
		case <-p.sinkDone:
		case <-end.Done():
		}
	}
	for _, r := range p.revokes {
		close(r.done)
	}
	if !p.cfg.UntilCaughtUp {
		close(p.stopRecovery)
	}
	p.drainLanes(end)
	p.snapshot()
}
