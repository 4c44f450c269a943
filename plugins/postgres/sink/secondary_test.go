//go:build services

package sink

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// A span without an epoch is not for this sink to gate: rows, once each, and
// nothing else; whoever has the stream's epoch does not matter.
func TestSpansWithoutAnEpochAreRowsOnly(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	bare := func(from, next int64) *sdk.Batch {
		b := span(t, sdk.Epoch{}, from, next)
		b.Cursors = []sdk.Cursor{{Stream: streamA, Position: next, Token: []byte("c")}}
		return b
	}
	ses := r.open(s)
	ses.deliver(bare(0, 10), bare(20, 30), bare(5, 25), bare(0, 10))
	left := bare(0, 40)
	left.Rows = []sdk.RowRange{{From: 30, To: 40}} // the lane's coverage has the others
	ses.deliver(left)
	if r.rows() != 40 {
		t.Errorf("%d rows", r.rows())
	}
	if n := r.number("select (select count(*) from _twg.streams) + (select count(*) from _twg.coverage) + (select count(*) from _twg.cursors) + (select count(*) from _twg.backends)"); n != 0 {
		t.Errorf("%d notes were made", n)
	}
	// The same table gates another pipeline: what is written beside it is found
	// to be there.
	e := r.acquire(s, "gate", streamA)[0]
	ses.deliver(bare(40, 50))
	gate := r.open(r.sink())
	gate.deliver(span(t, e, 0, 60))
	ses.deliver(bare(55, 70))
	if r.rows() != 70 || r.held(s, streamA) != held(0, 60) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
}

// Rows that the table will never take are answered by position; the others of
// the batch land.
func TestRefusedRowsWithoutAnEpoch(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	r.open(s)
	r.exec(`alter table raw add constraint no_sevens check (convert_from(value, 'UTF8') !~ '7')`)
	ses := r.open(s)
	seq := ses.send(batchOf(t, piece{stream: streamA, next: 40}, piece{stream: streamB, next: 6}))
	out := ses.answer(seq, 2)
	var refused []int64
	for _, x := range out[0].Rejected {
		refused = append(refused, x.Position)
	}
	if kinds(out) != "rejected durable" || fmt.Sprint(refused) != "[7 17 27 37]" || !strings.Contains(out[0].Reason, "no_sevens") || r.rows() != 42 {
		t.Errorf("%+v, %d rows", out, r.rows())
	}
	ses.deliver(span(t, sdk.Epoch{}, 0, 7), span(t, sdk.Epoch{}, 8, 17)) // and it goes on
	r.exec("alter table raw drop constraint no_sevens")
	ses.deliver(span(t, sdk.Epoch{}, 0, 40)) // repaired
	if r.rows() != 46 {
		t.Errorf("%d rows", r.rows())
	}
}

// The live lane and recovery write to one table at once, partly the same rows.
func TestLiveAndRecoveryAtOnce(t *testing.T) {
	r := newRig(t, shared)
	r.set = `,"connections":2`
	var wg sync.WaitGroup
	for k := range 3 {
		ses := r.open(r.sink())
		wg.Go(func() {
			var seqs []uint64
			for p := int64(0); p < 8000; p += 400 {
				at := p
				if k == 1 { // the other way round
					at = 7600 - p
				}
				seqs = append(seqs, ses.send(batchOf(t, piece{stream: streamA, from: at, next: at + 400}, piece{stream: streamB, from: at, next: at + 400})))
			}
			for _, seq := range seqs {
				if got := kinds(ses.answer(seq, 2)); got != "durable durable" {
					t.Errorf("writer %d: %s", k, got)
				}
			}
		})
	}
	wg.Wait()
	if r.rows() != 16_000 {
		t.Errorf("%d rows", r.rows())
	}
}
