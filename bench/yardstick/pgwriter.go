package main

import (
	"context"
	"sync"
	"time"
)

// pgBatch is what one transaction writes.
type pgBatch struct {
	n     int64
	rows  []byte
	spans map[int32]span
	from  time.Time // when its first record was read
}

// pgBatches are how many there are: one that is encoded, one that is written.
const pgBatches = 2

// writeAll encodes polls into batches of about c.rowsPerTx rows while the one
// before is written; after the commit of a batch, and only then, its offsets
// are committed, while the next one is written.
func (t *table) writeAll(ctx context.Context, c config, r *reader, polls <-chan poll) (summary, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full, free := make(chan *pgBatch, 1), make(chan *pgBatch, pgBatches)
	for range pgBatches {
		free <- &pgBatch{}
	}
	offsets := make(chan map[int32]int64, 1)
	var wg sync.WaitGroup
	wg.Go(func() { encode(ctx, c, newCopyRows(r), polls, free, full) })
	wg.Go(func() {
		for next := range offsets {
			if err := r.commit(ctx, next); err != nil {
				stop(err)
			}
		}
	})
	s, err := t.writeBatches(ctx, full, free, offsets)
	close(offsets)
	if err != nil {
		stop(err)
	}
	wg.Wait()
	return s, context.Cause(ctx)
}

// writeBatches writes until full is closed.
func (t *table) writeBatches(ctx context.Context, full <-chan *pgBatch, free chan<- *pgBatch, offsets chan<- map[int32]int64) (s summary, err error) {
	for b := range full {
		if s.Records == 0 {
			s.FirstRecordAt = b.from
		}
		if err := t.write(ctx, b); err != nil {
			return s, err
		}
		s.AllDurableAt = time.Now()
		s.Records += b.n
		next := map[int32]int64{}
		for p, sp := range b.spans {
			next[p] = sp.Next
		}
		free <- b // never waits: there is room for all
		offsets <- next
	}
	return s, nil
}

// encode fills batches, and closes full when polls or ctx are at their end.
func encode(ctx context.Context, c config, rows *copyRows, polls <-chan poll, free <-chan *pgBatch, full chan<- *pgBatch) {
	defer close(full)
	for {
		b, ok := receive(ctx, free)
		if !ok {
			return
		}
		b.reset()
		more := true
		for more && b.n < c.rowsPerTx {
			var p poll
			if p, more = receive(ctx, polls); more {
				b.add(rows, p)
			}
		}
		if b.n > 0 && !b.send(ctx, full) || !more {
			return
		}
	}
}

// receive is false at the end of from and of ctx.
func receive[T any](ctx context.Context, from <-chan T) (v T, ok bool) {
	select {
	case v, ok = <-from:
	case <-ctx.Done():
	}
	return v, ok
}

func (b *pgBatch) reset() {
	*b = pgBatch{rows: append(b.rows[:0], copyHeader...), spans: map[int32]span{}}
}

func (b *pgBatch) add(rows *copyRows, p poll) {
	if b.n == 0 {
		b.from = p.at
	}
	for _, r := range p.records {
		b.rows = rows.append(b.rows, r)
		s, ok := b.spans[r.Partition]
		if !ok {
			s.From = r.Offset
		}
		s.Next = r.Offset + 1
		b.spans[r.Partition] = s
		r.Recycle()
	}
	b.n += int64(len(p.records))
}

// send ends the batch and hands it on; false: ctx has ended.
func (b *pgBatch) send(ctx context.Context, full chan<- *pgBatch) bool {
	b.rows = append(b.rows, copyTrailer...)
	select {
	case full <- b:
		return true
	case <-ctx.Done():
		return false
	}
}
