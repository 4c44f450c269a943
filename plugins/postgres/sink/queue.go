package sink

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// job is the spans of one batch that one lane writes.
type job struct {
	batch *sdk.Batch
	parts []*part
	bytes int64
}

func (j *job) rows() int {
	n := 0
	for _, p := range j.parts {
		for _, r := range p.rows {
			n += r.to - r.from
		}
	}
	return n
}

// queue is what waits for a lane, bounded in bytes; one job always fits.
type queue struct {
	limit int64

	mu     sync.Mutex
	jobs   []*job
	bytes  int64
	closed bool
	moved  chan struct{} // closed, and replaced, with every change
}

func newQueue(limit int64) *queue { return &queue{limit: limit, moved: make(chan struct{})} }

var errClosed = errors.New("write after the session's end")

// change tells whoever waits. q.mu is held.
func (q *queue) change() {
	close(q.moved)
	q.moved = make(chan struct{})
}

// push waits for room.
func (q *queue) push(ctx context.Context, j *job) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return errClosed
		}
		if len(q.jobs) == 0 || q.bytes+j.bytes <= q.limit {
			q.jobs, q.bytes = append(q.jobs, j), q.bytes+j.bytes
			q.change()
			q.mu.Unlock()
			return nil
		}
		moved := q.moved
		q.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close lets pop return what is there and then nothing.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.change()
	}
}

// limits bound what is joined into one transaction.
type limits struct {
	rows   int
	bytes  int64
	linger time.Duration
}

// pop waits for a job, and then for more of them until the limits, the linger
// or the queue's end. Nil: there will be none any more.
func (q *queue) pop(ctx context.Context, lim limits) []*job {
	var out []*job
	var rows int
	var bytes int64
	var late <-chan time.Time
	for {
		q.mu.Lock()
		for len(q.jobs) > 0 {
			j := q.jobs[0]
			if n := j.rows(); len(out) > 0 && (rows+n > lim.rows || bytes+j.bytes > lim.bytes) {
				q.mu.Unlock()
				return out
			}
			q.jobs[0] = nil
			q.jobs, q.bytes = q.jobs[1:], q.bytes-j.bytes
			out, rows, bytes = append(out, j), rows+j.rows(), bytes+j.bytes
			q.change()
		}
		closed, moved := q.closed, q.moved
		q.mu.Unlock()
		if closed || len(out) > 0 && (lim.linger <= 0 || rows >= lim.rows || bytes >= lim.bytes) {
			return out
		}
		if late == nil && len(out) > 0 {
			late = time.After(lim.linger)
		}
		select {
		case <-moved:
		case <-late:
			return out
		case <-ctx.Done():
			return nil
		}
	}
}
