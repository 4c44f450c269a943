package produce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

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
	if err := p.txn.BeginTransaction(); err != nil {
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
	if err := p.txn.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		p.fail(fmt.Errorf("end transaction: %w", err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if commit {
		p.real = append(p.real, places...)
	} else {
		p.aborted += len(places)
	}
}
