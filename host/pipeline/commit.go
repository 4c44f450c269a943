package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
)

// This file is the guarantee. A source position is committed by commit alone,
// and commit takes only Committables. An ackgate.Committable cannot be made
// outside ackgate, and ackgate makes it from durable outcomes of receipts (or
// from a Start at a position below which the store holds everything). So what
// is committed lags what is durable and never leads it: INV1, INV2.

// committer is the one commit that may be under way.
type committer struct {
	busy  bool
	since time.Time // since when something durable waits; zero: nothing does
	retry time.Time // after a failure: not before
	fails int
}

const commitTimeout = 30 * time.Second

// commitReady commits what the gate has ready, one request at a time; what
// becomes ready meanwhile goes into the next.
func (p *Pipeline) commitReady() {
	if p.commits.busy || p.src == nil || !p.src.isOpen() || time.Now().Before(p.commits.retry) {
		return
	}
	ready := p.gate.Ready(nil)
	if len(ready) == 0 {
		p.commits.since = time.Time{}
		return
	}
	if p.commits.since.IsZero() {
		p.commits.since = time.Now()
	}
	p.commits.busy = true
	src := p.src
	p.goRun(func() {
		errs := p.commit(src.life, src.reader, ready)
		p.box.post(func() { p.committed(ready, errs) })
	})
}

// commit tells a source's server how far everything is durable. It waits for
// its turn: a start may have a position of its own to commit.
func (p *Pipeline) commit(ctx context.Context, r sdk.Reader, ready []ackgate.Committable) []error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	select {
	case p.committing <- struct{}{}:
		defer func() { <-p.committing }()
	case <-ctx.Done():
		return slices.Repeat([]error{ctx.Err()}, len(ready))
	}
	marks := make([]sdk.Mark, len(ready))
	for i, c := range ready {
		marks[i] = c.Mark()
	}
	faultpoint.Hit("commit")
	return r.Commit(ctx, marks)
}

// committed takes the answer. What failed is ready again after a pause; if
// the stream has gone elsewhere, Revoking, Lost or the source's end say so.
func (p *Pipeline) committed(ready []ackgate.Committable, errs []error) {
	p.commits.busy = false
	failed := p.noteCommitted(ready, errs)
	p.stat.Observed.commitDone(failed)
	if failed == nil {
		p.commits.fails, p.commits.since = 0, time.Time{}
		return
	}
	p.commits.fails++
	if sdk.KindOf(failed) == sdk.KindFatal {
		p.halt(fmt.Errorf("commit positions: %w", failed))
	}
	p.commits.retry = time.Now().Add(backoff(p.commits.fails))
	p.log.Warn("commit failed; trying again", "error", failed)
}

// noteCommitted tells the gate what became of each position and returns an
// error, a fatal one if there is one.
func (p *Pipeline) noteCommitted(ready []ackgate.Committable, errs []error) (failed error) {
	for i, c := range ready {
		if errs != nil && errs[i] != nil {
			p.gate.Failed(c)
			if sdk.KindOf(failed) != sdk.KindFatal {
				failed = errs[i]
			}
			continue
		}
		p.gate.Committed(c)
		p.noteBase(c)
	}
	return failed
}

// noteBase notes what the source's server holds now, also if the run that it
// was committed for is over: the stream may have been assigned again with what
// stood there before.
func (p *Pipeline) noteBase(c ackgate.Committable) {
	if st := p.byKey[c.Stream()]; st != nil {
		st.base, st.hasBase = c, true
		st.proof, st.hasProof = c, true
	}
}
