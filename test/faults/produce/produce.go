package produce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/verify"
)

// Config says what is produced where.
type Config struct {
	Brokers    []string
	Topic      string
	Partitions int32
	Seed       uint64
	// PerSecond is the rate of records, all partitions together.
	PerSecond int
	// LargeAfter are the moments, from the beginning, of the 5 MB records.
	LargeAfter []time.Duration
}

// tick is how often a portion of records is sent.
const tick = 50 * time.Millisecond

// Producer writes until it is stopped, and keeps what the broker has
// acknowledged. Its methods may be called from any goroutine.
type Producer struct {
	cfg   Config
	plain *kgo.Client
	txn   *kgo.Client

	mu      sync.Mutex
	real    []verify.Place
	aborted int
	unsure  int
	large   int
	err     error
}

// New connects. The caller runs Run once.
func New(cfg Config) (*Producer, error) {
	plain, err := kgo.NewClient(options(cfg)...)
	if err != nil {
		return nil, fmt.Errorf("open producer: %w", err)
	}
	txn, err := openTransactional(cfg)
	if err != nil {
		plain.Close()
		return nil, err
	}
	return &Producer{cfg: cfg, plain: plain, txn: txn}, nil
}

func options(cfg Config) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(16 << 20),
		kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
	}
}

func openTransactional(cfg Config) (*kgo.Client, error) {
	txn, err := kgo.NewClient(append(options(cfg), kgo.TransactionalID("faults"))...)
	if err != nil {
		return nil, fmt.Errorf("open transactional producer: %w", err)
	}
	return txn, nil
}

// Run produces until ctx ends, then lets what is on its way arrive.
func (p *Producer) Run(ctx context.Context) error {
	defer p.plain.Close()
	defer func() { p.txn.Close() }()  // the one that there is then
	out := context.WithoutCancel(ctx) // what was begun is ended
	rng := rand.New(rand.NewPCG(p.cfg.Seed, 1))
	n, large, begun := int64(0), 0, time.Now()
	tk := time.NewTicker(tick)
	defer tk.Stop()
	for ctx.Err() == nil && p.Err() == nil {
		portion := p.cfg.PerSecond * int(tick) / int(time.Second)
		p.portion(out, rng, &n, portion)
		if large < len(p.cfg.LargeAfter) && time.Since(begun) > p.cfg.LargeAfter[large] {
			large++
			p.send(out, p.plain, Large(p.cfg.Seed, n, p.cfg.Topic, rng.Int32N(p.cfg.Partitions)), p.landed)
			n++
		}
		select {
		case <-tk.C:
		case <-ctx.Done():
		}
	}
	p.last(out, n)
	return p.Err()
}

// last flushes, and ends every partition with a transaction that was aborted:
// lag must return to zero also where nothing more will come behind a marker.
func (p *Producer) last(ctx context.Context, n int64) {
	if err := p.plain.Flush(ctx); err != nil {
		p.fail(fmt.Errorf("flush producer: %w", err))
	}
	p.transaction(ctx, n, n+16*int64(p.cfg.Partitions), false)
}

func (p *Producer) send(ctx context.Context, c *kgo.Client, r *kgo.Record, landed func(*kgo.Record)) {
	c.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err != nil {
			p.fail(fmt.Errorf("produce to %s/%d: %w", r.Topic, r.Partition, err))
			return
		}
		landed(r)
	})
}

func (p *Producer) landed(r *kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.real = append(p.real, place(r))
	if len(r.Value) >= largeBytes {
		p.large++
	}
}

func place(r *kgo.Record) verify.Place {
	return verify.Place{Partition: r.Partition, Position: r.Offset}
}

func (p *Producer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}
