//go:build services

package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/plugins/postgres/rawread"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// fill writes one record for each position of [0, n), each with a value of
// size bytes.
func (s *session) fill(stream sdk.Stream, e sdk.Epoch, n int64, size int) {
	s.t.Helper()
	value := []byte(strings.Repeat("v", size))
	const step = 2000
	var seqs []uint64
	for from := int64(0); from < n; from += step {
		recs := plain(from, min(from+step, n))
		for i := range recs {
			recs[i].Value = value
		}
		seqs = append(seqs, s.send(batchOf(s.t, piece{stream, e, from, min(from+step, n), recs})))
	}
	for _, seq := range seqs {
		if out := s.answer(seq, 1); out[0].Kind != sdk.Durable {
			s.t.Fatalf("%+v", out)
		}
	}
}

// Streams whose ids begin alike, at the same positions, over many pages.
func TestReplayOfOneOfTwoStreamsWithOnePrefix(t *testing.T) {
	one, two := sdk.Stream{Topic: "collide"}, sdk.Stream{Topic: "collide", Partition: 1}
	for rawread.Prefix(one) != rawread.Prefix(two) {
		two.Partition++
	}
	r := newRig(t, shared)
	s := r.sink()
	es := r.acquire(s, "one", one, two)
	ses := r.open(s)
	const n = 20_000
	ses.fill(one, es[0], n, 100)
	ses.fill(two, es[1], n, 100)
	for _, stream := range []sdk.Stream{one, two} {
		got := r.replay(s, stream, 3, n+5)
		if got.read != fmt.Sprintf("[3,%d)", n) || len(got.recs) != n-3 || len(got.ids) != 16*(n-3) {
			t.Fatalf("%s: read %s, %d records", stream, got.read, len(got.recs))
		}
		for i, rec := range got.recs {
			if rec.Position != int64(i)+3 {
				t.Fatalf("%s: record %d has position %d", stream, i, rec.Position)
			}
		}
	}
}

// A frame ends at about 1 MiB; a record that is larger travels alone.
func TestFramesOfAReplay(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	var recs []frame.Record
	for p, size := range []int{10, 600 << 10, 600 << 10, 3 << 20, 10, 400 << 10, 400 << 10} {
		recs = append(recs, frame.Record{Position: int64(p), Value: []byte(strings.Repeat("x", size))})
	}
	r.open(s).deliver(batchOf(t, piece{streamA, e, 0, 9, recs}))
	if got := r.replay(s, streamA, 0, 100); fmt.Sprint(got.spans) != "[0-2 2-3 3-4 4-9]" || len(got.recs) != len(recs) {
		t.Errorf("frames %v, %d records", got.spans, len(got.recs))
	}
}

// While a replay is read, rows are written and pruned. What it says it has read
// is what it gave, all of one moment; and nobody waits for it.
func TestAReplayIsOfOneMoment(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	const n = 20_000
	ses.fill(streamA, e, n, 100)
	rows, batches := int64(0), 0
	read, err := s.Replay(t.Context(), sdk.Window{Stream: streamA, Next: 2 * n}, func(b *sdk.Batch) error {
		if batches++; batches == 1 { // in the middle of it
			ses.deliver(span(t, e, n, n+1000))
			got, err := s.Prune(t.Context(), []sdk.Prune{{Stream: streamA, Below: n - 10}}, false)
			if err != nil || got[0].RawFloor != n-10 || got[0].Rows != n-10 {
				t.Errorf("%+v, %v", got, err)
			}
		}
		rows += int64(b.Frame.NumRecords())
		return nil
	})
	if err != nil || len(read) != 1 || read[0].From != 0 || read[0].Next != n || rows != n || batches < 5 {
		t.Errorf("read %+v, %d rows in %d batches, %v", read, rows, batches, err)
	}
	if got := r.replay(s, streamA, 0, 2*n); got.read != fmt.Sprintf("[%d,%d)", n-10, n+1000) || len(got.recs) != 1010 {
		t.Errorf("afterwards: %s, %d records", got.read, len(got.recs))
	}
}

// Replays run beside each other, and a reader that gives up, or a context that
// ends, ends the query at the server.
func TestReplaysThatEndEarly(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	const n = 20_000
	r.open(s).fill(streamA, e, n, 2000)
	stop := errors.New("stop")
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := int64(0)
			_, err := s.Replay(ctx, sdk.Window{Stream: streamA, Next: n}, func(b *sdk.Batch) error {
				got += int64(b.Frame.NumRecords())
				switch k {
				case 0:
					return stop
				case 1:
					cancel()
				}
				return nil
			})
			if k > 1 && (err != nil || got != n) || k == 0 && !errors.Is(err, stop) || k == 1 && !errors.Is(err, context.Canceled) {
				t.Errorf("replay %d: %d rows, %v", k, got, err)
			}
		})
	}
	wg.Wait()
	eventually(t, "no query runs any more", func() bool {
		return r.number("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (state <> 'idle' or backend_xmin is not null) and query not like '%pg_stat_activity%'") == 0
	})
}

// A reader that takes nothing does not keep its snapshot for ever, whether the
// server waits to send or for the next question.
func TestAReplayWhoseReaderStands(t *testing.T) {
	for name, size := range map[string]int{"waits to send": 4000, "waits to be asked": 10} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shared)
			s := r.sink()
			s.stall = time.Second
			e := r.acquire(s, "one", streamA)[0]
			const n = 20_000
			r.open(s).fill(streamA, e, n, size)
			stands, goesOn := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				var first sync.Once
				_, err := s.Replay(t.Context(), sdk.Window{Stream: streamA, Next: n}, func(*sdk.Batch) error {
					first.Do(func() {
						close(stands)
						<-goesOn
					})
					return nil
				})
				ended <- err
			}()
			<-stands
			eventually(t, "the snapshot is gone", func() bool {
				return r.number("select count(*) from pg_stat_activity where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid()") == 0
			})
			close(goesOn)
			if err := <-ended; sdk.KindOf(err) != sdk.KindRetryable {
				t.Errorf("%v", err)
			}
		})
	}
}

// The server is killed while rows are read: an error, and the next call works.
func TestServerKilledInMidReplay(t *testing.T) {
	server := ownServer(t)
	r := newRig(t, server)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	const n = 40_000
	ses.fill(streamA, e, n, 2000)
	r.fatal(s.Record(t.Context(), lake, []sdk.CoverageRecord{{Stream: streamA, LiveFloor: n}}))
	batches := 0
	_, err := s.Replay(t.Context(), sdk.Window{Stream: streamA, Next: n}, func(*sdk.Batch) error {
		if batches++; batches == 1 {
			server.Kill()
		}
		return nil
	})
	if sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("after %d batches: %v", batches, err)
	}
	if _, err := s.PlanWindows(t.Context(), lake, []sdk.RecoveryWindow{window(0, 10)}); sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("a call while the server is away: %v", err)
	}
	r.fatal(server.Start(t.Context()))
	if got := r.replay(s, streamA, 0, n); len(got.recs) != n {
		t.Errorf("%d records", len(got.recs))
	}
	if got := r.plan(s, window(0, 10)); !strings.HasSuffix(got, ":[0,10)open ") {
		t.Error(got)
	}
	if w := r.claim(s, "one"); w == nil {
		t.Error("nothing to claim")
	}
}

// Two rows at one position are no stream; nothing can be rebuilt from them.
func TestAPositionThatIsThereTwice(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	r.open(s).deliver(span(t, e, 0, 10))
	r.exec(`insert into raw select (left(_twg_record_id::text, 18) || '-0000-000000000000')::uuid, cluster, topic, incarnation, partition, position, timestamp_ms, key, value, headers from raw where position = 4`)
	_, err := s.Replay(t.Context(), sdk.Window{Stream: streamA, Next: 10}, func(*sdk.Batch) error { return nil })
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "position 4") {
		t.Errorf("%v", err)
	}
}
