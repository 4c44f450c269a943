package wire

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

const (
	// PingInterval is how often each side sends Ping.
	PingInterval = 5 * time.Second
	// missedPings is how many intervals may pass without a word.
	missedPings = 3
)

// pulse keeps a stream's pings. Watching and talking are apart: a send that
// hangs because the other side has stopped must not keep that from being
// noticed.
type pulse struct {
	interval time.Duration
	oldest   func() uint64 // this side's oldest seq in work
	send     func(*twgpb.Ping, *twgpb.Pong) error

	heard  atomic.Bool
	theirs atomic.Uint64 // the other side's oldest seq in work
	due    chan struct{}
	pongs  chan uint64
}

func newPulse(interval time.Duration, oldest func() uint64, send func(*twgpb.Ping, *twgpb.Pong) error) *pulse {
	if interval <= 0 {
		interval = PingInterval
	}
	p := &pulse{interval: interval, oldest: oldest, send: send, due: make(chan struct{}, 1), pongs: make(chan uint64, 16)}
	p.heard.Store(true)
	return p
}

// hear notes that the other side said something, whatever it was.
func (p *pulse) hear() { p.heard.Store(true) }

// ping notes a Ping; its answer is sent by talk. If many wait, some go
// unanswered: one answer says as much as all.
func (p *pulse) ping(m *twgpb.Ping) {
	p.theirs.Store(m.GetOldestSeq())
	select {
	case p.pongs <- m.GetNonce():
	default:
	}
}

func (p *pulse) pong(m *twgpb.Pong) { p.theirs.Store(m.GetOldestSeq()) }

// watch ends with an error when the other side has been silent too long.
func (p *pulse) watch(ctx context.Context) error {
	t := time.NewTicker(p.interval)
	defer t.Stop()
	for missed := 0; missed < missedPings; {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		missed++
		if p.heard.Swap(false) {
			missed = 0
		}
		select {
		case p.due <- struct{}{}:
		default:
		}
	}
	return &sdk.Error{Op: "wait for pong", Kind: sdk.KindRetryable, Scope: sdk.ScopePlugin, Err: fmt.Errorf(
		"no answer to %d pings in %v; the oldest batch in work is %s here and %s there", missedPings, missedPings*p.interval, seqName(p.oldest()), seqName(p.theirs.Load()))}
}

func seqName(seq uint64) string {
	if seq == 0 {
		return "none"
	}
	return fmt.Sprint(seq)
}

// talk sends pings and pongs.
func (p *pulse) talk(ctx context.Context) error {
	var nonce uint64
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-p.due:
			nonce++
			err = p.send(&twgpb.Ping{Nonce: nonce, OldestSeq: p.oldest()}, nil)
		case n := <-p.pongs:
			err = p.send(nil, &twgpb.Pong{Nonce: n, OldestSeq: p.oldest()})
		}
		if err != nil {
			return nil // the receiving side learns why
		}
	}
}
