package produce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/verify"
)

// portion sends a tick's records: plainly, or in a transaction that is
// committed or aborted.
func (p *Producer) portion(ctx context.Context, rng *rand.Rand, n *int64, count int) {
	how := rng.IntN(6)
	first := *n
	*n += int64(count)
	if how > 1 {
		for i := first; i < *n; i++ {
			p.send(ctx, p.plain, Content(p.cfg.Seed, i, p.cfg.Topic, p.cfg.Partitions), p.landed)
		}
		return
	}
	p.transaction(ctx, first, *n, how == 0)
}

func (p *Producer) transaction(ctx context.Context, from, next int64, commit bool) {
	if err := p.begin(); err != nil {
		p.fail(fmt.Errorf("begin transaction: %w", err))
		return
	}
	var mu sync.Mutex
	var places []verify.Place
	for i := from; i < next; i++ {
		p.send(ctx, p.txn, Content(p.cfg.Seed, i, p.cfg.Topic, p.cfg.Partitions), func(r *kgo.Record) {
			mu.Lock()
			defer mu.Unlock()
			places = append(places, place(r))
		})
	}
	if err := p.txn.Flush(ctx); err != nil {
		p.fail(fmt.Errorf("flush transaction: %w", err))
		return
	}
	sure, err := p.end(ctx, commit)
	if err != nil {
		p.fail(fmt.Errorf("end transaction: %w", err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !sure:
		p.unsure += len(places)
	case commit:
		p.real = append(p.real, places...)
	default:
		p.aborted += len(places)
	}
}

const (
	// endWithin bounds the end of a transaction while the broker is away.
	endWithin = 60 * time.Second
	endEvery  = 200 * time.Millisecond
)

// begin begins a transaction. A driver whose producer ID could not be had,
// because the broker went away in that moment, never asks for one again: then
// another takes its place.
func (p *Producer) begin() error {
	deadline := time.Now().Add(endWithin)
	for {
		err := p.txn.BeginTransaction()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(endEvery)
		txn, err := openTransactional(p.cfg)
		if err != nil {
			return err
		}
		p.txn.Close()
		p.txn = txn
	}
}

// end ends the transaction. If the broker goes away meanwhile, a commit may
// have been carried out or not: the driver then wants an abort, which ends
// whatever is still open. sure: it is known how the transaction ended.
func (p *Producer) end(ctx context.Context, commit bool) (sure bool, err error) {
	deadline := time.Now().Add(endWithin)
	if err = p.txn.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err == nil {
		return true, nil
	}
	for err != nil && time.Now().Before(deadline) {
		time.Sleep(endEvery)
		err = p.txn.EndTransaction(ctx, kgo.TryAbort)
	}
	return !commit, err
}
