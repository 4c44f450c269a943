package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// chaosSecondary is a lane's sink: it writes one batch after the other, dies,
// refuses, is slow, or is not there at all.
type chaosSecondary struct {
	w    *world
	lane *chaosLane
	room int
}

func (s *chaosSecondary) Describe() sdk.Description {
	return sdk.Description{Name: "secondary", Version: "1", Kind: sdk.KindSink}
}
func (s *chaosSecondary) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (s *chaosSecondary) isDown() bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.lane.down
}

func (s *chaosSecondary) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	if s.isDown() || s.w.fault(5, "secondary would not open") {
		return nil, errors.New("no database")
	}
	life, stop := context.WithCancel(context.Background())
	w := &secondaryWriter{s: s, ses: ses, stop: stop, restarts: s.restarts(), flushes: make(chan uint64, 1), queue: make(chan *sdk.Batch, s.room), closing: make(chan struct{})}
	w.wg.Go(func() { w.run(life) })
	return w, nil
}

func (s *chaosSecondary) restarts() int {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.lane.restarts
}

type secondaryWriter struct {
	s     *chaosSecondary
	ses   sdk.Session
	stop  context.CancelFunc
	wg    sync.WaitGroup
	queue chan *sdk.Batch
	// closing: what waits is written, nothing more is taken.
	closing chan struct{}

	// Of a lane that flushes. soft is what it has and may lose.
	restarts int
	flushes  chan uint64 // the newest that was asked for
	asked    uint64
	wrote    uint64
	said     uint64
	soft     []softRow
}

type softRow struct {
	stream sdk.Stream
	pos    int64
}

// Flush may come before its batches, and runs beside Write.
func (w *secondaryWriter) Flush(_ context.Context, seq uint64) error {
	for {
		select {
		case w.flushes <- seq:
			return nil
		case <-w.flushes: // an older one
		}
	}
}

func (w *secondaryWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if w.s.w.fault(40, "secondary's write failed") {
		return errors.New("broken pipe")
	}
	select {
	case w.queue <- b:
		return nil
	case <-w.closing:
		return errors.New("closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *secondaryWriter) Close(ctx context.Context) error {
	close(w.closing)
	if ctx.Err() != nil {
		w.stop()
	}
	w.wg.Wait()
	w.stop()
	return nil
}

func (w *secondaryWriter) run(life context.Context) {
	defer w.lose()
	for {
		select {
		case seq := <-w.flushes:
			if w.asked = max(w.asked, seq); !w.flush(w.asked) {
				return
			}
		case b := <-w.queue:
			if !pause(life, w.s.w.pause(700*time.Millisecond)) || !w.write(b) {
				return
			}
		case <-life.Done():
			return
		case <-w.closing:
			select {
			case b := <-w.queue:
				if !w.write(b) {
					return
				}
			default:
				w.flush(w.wrote)
				return
			}
		}
	}
}

// write commits a batch. false: the session is over.
func (w *secondaryWriter) write(b *sdk.Batch) bool {
	x := w.s.w
	if w.s.isDown() || w.s.restarts() != w.restarts || x.fault(25, "secondary died before the write") {
		w.ses.Fail(errors.New("killed"))
		return false
	}
	r := w.transaction(b)
	if x.fault(25, "secondary died before the receipt") {
		w.ses.Fail(errors.New("killed"))
		return false
	}
	w.ses.Report(r) // the batch is the host's again
	w.wrote = r.Seq
	return w.wrote != w.asked || w.flush(w.asked)
}

// flush makes durable what was written, once all up to seq was. false: the
// session is over.
func (w *secondaryWriter) flush(seq uint64) bool {
	x := w.s.w
	if !w.s.lane.flushes || seq == 0 || w.wrote < seq || seq < w.said {
		return true
	}
	// Receipts are out, and nothing is durable. Close waits for it as well.
	pause(context.Background(), x.pause(200*time.Millisecond))
	if w.s.restarts() != w.restarts || x.fault(25, "secondary died before the flush") {
		w.ses.Fail(errors.New("killed"))
		return false
	}
	x.mu.Lock()
	for _, r := range w.soft {
		w.s.lane.parts[r.stream].rows[r.pos] = 1
	}
	w.soft = nil
	x.did["flushed"]++
	x.mu.Unlock()
	if x.fault(25, "secondary died before it said Flushed") {
		w.ses.Fail(errors.New("killed"))
		return false
	}
	w.said = w.wrote
	w.ses.Flushed(w.wrote)
	return true
}

// lose is what becomes of rows that were not flushed.
func (w *secondaryWriter) lose() {
	w.s.w.mu.Lock()
	defer w.s.w.mu.Unlock()
	if len(w.soft) > 0 {
		w.s.w.did["unflushed lost"]++
	}
	w.soft = nil
}

func (w *secondaryWriter) transaction(b *sdk.Batch) sdk.Receipt {
	x := w.s.w
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checkRows(b)
	for _, s := range b.Spans {
		if !s.Epoch.IsZero() {
			x.wrong("a secondary was given raw's epoch for %s", s.Stream)
		}
	}
	if x.faultLocked(12, "secondary refused for now") {
		return sdk.AllOutcome(w.ses.ID, b, sdk.Retryable, "busy")
	}
	r := sdk.AllDurable(w.ses.ID, b)
	if w.s.lane.flushes {
		r = sdk.AllOutcome(w.ses.ID, b, sdk.Written, "")
	}
	for i, s := range b.Spans {
		w.span(b, s, &r.Outcomes[i])
	}
	return r
}

// span writes a span's rows. The world's lock is held.
func (w *secondaryWriter) span(b *sdk.Batch, s sdk.Span, o *sdk.Outcome) {
	part := w.s.lane.parts[s.Stream]
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			pos := b.Frame.Position(i)
			switch {
			case b.Frame.Stream(b.Frame.StreamIndex(i)) != s.Stream:
			case w.s.lane.poison && poisoned(pos):
				o.Kind = sdk.Rejected
				o.Rejected = append(o.Rejected, sdk.RejectedRow{Position: pos, Reason: "poison"})
			case w.s.lane.flushes:
				w.soft = append(w.soft, softRow{s.Stream, pos})
			default:
				part.rows[pos] = 1 // idempotent on the record id
			}
		}
	}
	has := func(pos int64) bool {
		return part.rows[pos] > 0 || slices.Contains(w.soft, softRow{s.Stream, pos}) || w.s.lane.poison && poisoned(pos)
	}
	for pos := s.From; pos < s.Next; pos++ {
		if exists(pos) && !has(pos) {
			w.s.w.wrong("a secondary was sent [%d,%d) of %s without the row at %d", s.From, s.Next, s.Stream, pos)
		}
	}
}
