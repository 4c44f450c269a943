//go:build services

package sink

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// insertAs writes row i of b as another program would.
func (r *rig) insertAs(ctx context.Context, q pgx.Tx, b *sdk.Batch, i int) error {
	k := b.Frame.Stream(b.Frame.StreamIndex(i))
	_, err := q.Exec(ctx, "insert into raw values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		b.ID(i), k.Cluster, k.Topic, k.Incarnation, k.Partition, b.Frame.Position(i), b.Frame.TimestampMS(i), b.Frame.Key(i), b.Frame.Value(i))
	return err
}

func (r *rig) waiting() bool {
	return r.number("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0
}

// 23505: another transaction holds a key and then commits it.
func TestAKeyThatIsThereAlready(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	b := span(t, e, 0, 100)
	tx, err := r.connect().Begin(t.Context())
	r.fatal(err)
	r.fatal(r.insertAs(t.Context(), tx, b, 50))
	seq := ses.send(b)
	eventually(t, "the COPY waits for the key", r.waiting)
	r.fatal(tx.Commit(t.Context()))
	if out := ses.answer(seq, 1); out[0].Kind != sdk.Durable {
		t.Errorf("%+v", out)
	}
	if r.rows() != 100 || r.held(s, streamA) != held(0, 100) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
	ses.deliver(span(t, e, 100, 200)) // through the stage for a while
	if r.rows() != 200 {
		t.Errorf("%d rows", r.rows())
	}
}

// 40P01: two transactions want the same keys in opposite orders.
func TestDeadlock(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	b := span(t, e, 0, 3000)
	tx, err := r.connect().Begin(t.Context())
	r.fatal(err)
	r.fatal(r.insertAs(t.Context(), tx, b, 2900))
	before := r.number("select deadlocks from pg_stat_database where datname = current_database()")
	seq := ses.send(b)
	eventually(t, "the COPY waits for the key", r.waiting)
	r.fatal(r.insertAs(t.Context(), tx, b, 10)) // returns once the COPY was ended
	r.fatal(tx.Commit(t.Context()))
	if out := ses.answer(seq, 1); out[0].Kind != sdk.Durable || r.rows() != 3000 {
		t.Errorf("%+v, %d rows", out, r.rows())
	}
	eventually(t, "a deadlock was counted", func() bool {
		return r.number("select deadlocks from pg_stat_database where datname = current_database()") > before
	})
}

// Two writers without a fence send the same rows at once, of two streams in
// opposite orders.
func TestTwoWritersOfTheSameRows(t *testing.T) {
	r := newRig(t, shared)
	var wg sync.WaitGroup
	for k := range 2 {
		ses := r.open(r.sink())
		wg.Go(func() {
			var seqs []uint64
			for p := int64(0); p < 6000; p += 500 {
				x, y := piece{stream: streamA, from: p, next: p + 500}, piece{stream: streamB, from: p, next: p + 500}
				if k == 1 {
					x, y = y, x
				}
				seqs = append(seqs, ses.send(batchOf(t, x, y)))
			}
			for _, seq := range seqs {
				if got := kinds(ses.answer(seq, 2)); got != "durable durable" {
					t.Errorf("writer %d, batch %d: %s", k, seq, got)
				}
			}
		})
	}
	wg.Wait()
	if r.rows() != 12_000 {
		t.Errorf("%d rows", r.rows())
	}
}

// The coverage was lost with its schema; the rows are there. All of them come
// again, none is there twice, and the coverage is rebuilt.
func TestCoverageThatWasDeleted(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 1000))
	ses.abort()
	r.exec("drop schema _twg cascade")
	s = r.sink()
	e = r.acquire(s, "one", streamA)[0]
	if got := r.held(s, streamA); got != held() {
		t.Fatalf("held %s of a store that was deleted", got)
	}
	ses = r.open(s)
	for p := int64(0); p < 2000; p += 100 {
		ses.deliver(span(t, e, p, p+100))
	}
	if r.rows() != 2000 || r.held(s, streamA) != held(0, 2000) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
}

// Coverage that was recorded since it was read is read again before anything is
// answered.
func TestCoverageThatHasMoved(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	markers := func(from, next int64) *sdk.Batch {
		return batchOf(t, piece{stream: streamA, epoch: e, from: from, next: next, recs: []frame.Record{}})
	}
	record := func(from, next int64) {
		r.fatal(s.Record(t.Context(), sdk.LaneRaw, []sdk.CoverageRecord{{Stream: streamA, Epoch: e, Held: []coverage.Interval{within(from, next)}}}))
	}
	ses.deliver(markers(0, 10))
	record(10, 20)
	ses.deliver(markers(10, 30)) // it knows of [0,10) only
	if got := r.held(s, streamA); got != held(0, 30) {
		t.Errorf("held %s", got)
	}
	record(40, 50)
	ses.deliver(markers(40, 45), markers(30, 40), markers(0, 60))
	record(60, 65)
	ses.deliver(markers(60, 70))
	if got := r.held(s, streamA); got != held(0, 70) {
		t.Errorf("held %s", got)
	}
}
