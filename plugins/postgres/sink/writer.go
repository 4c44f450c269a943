package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// writer is a session: a lane for each connection. A stream keeps to one lane,
// so that its spans are written in order.
type writer struct {
	ses   sdk.Session
	token [16]byte // the session, at the server
	lanes []*lane
	stop  context.CancelFunc
	wg    sync.WaitGroup
	done  chan struct{} // all lanes have ended

	byStream map[sdk.Stream]*lane // Write's only

	reporting sync.Mutex
	silent    bool // no Report any more
	err       error
}

func newWriter(ctx context.Context, cfg *config, ses sdk.Session) (*writer, error) {
	w := &writer{ses: ses, token: newToken(), done: make(chan struct{}), byStream: map[sdk.Stream]*lane{}}
	for range cfg.set.Connections {
		o, err := cfg.within(ses.Limits.ConnectWithin).open(ctx)
		if err != nil {
			for _, l := range w.lanes {
				l.discard()
			}
			return nil, err
		}
		w.lanes = append(w.lanes, newLane(w, cfg, o))
	}
	life, stop := context.WithCancel(context.Background())
	w.stop = stop
	for _, l := range w.lanes {
		w.wg.Go(func() { l.run(life) })
	}
	go func() {
		w.wg.Wait()
		close(w.done)
	}()
	return w, nil
}

// Write implements sdk.Writer. It keeps b until its last span is answered.
func (w *writer) Write(ctx context.Context, b *sdk.Batch) error {
	if err := w.failure(); err != nil {
		return err
	}
	parts, err := split(b)
	if err != nil {
		return fmt.Errorf("write batch %d: %w", b.Seq, err)
	}
	groups := map[*lane][]*part{}
	for _, p := range parts {
		l := w.laneOf(p.span.Stream)
		groups[l] = append(groups[l], p)
	}
	for _, l := range w.lanes {
		if g := groups[l]; g != nil {
			if err := l.queue.push(ctx, &job{batch: b, parts: g, bytes: b.Bytes() * int64(len(g)) / int64(len(parts))}); err != nil {
				return errors.Join(w.failure(), err)
			}
		}
	}
	return nil
}

// laneOf gives new streams to the lanes in turn.
func (w *writer) laneOf(s sdk.Stream) *lane {
	l := w.byStream[s]
	if l == nil {
		l = w.lanes[len(w.byStream)%len(w.lanes)]
		w.byStream[s] = l
	}
	return l
}

// Close implements sdk.Writer.
func (w *writer) Close(ctx context.Context) error {
	for _, l := range w.lanes {
		l.queue.close()
	}
	select {
	case <-w.done:
		return w.silence(nil)
	case <-ctx.Done():
		w.abort()
		return ctx.Err()
	}
}

// abort ends the session without a Report. done says when all has left the
// server; what the server still does with what it was sent, the next session
// puts an end to.
func (w *writer) abort() {
	w.silence(errAborted)
	w.stop()
	for _, l := range w.lanes {
		l.queue.close()
	}
}

// report hands a receipt to the host unless the session is over.
func (w *writer) report(r sdk.Receipt) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if !w.silent {
		w.ses.Report(r)
	}
}

// fail ends the session at the host.
func (w *writer) fail(err error) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if !w.silent {
		w.silent, w.err = true, err
		w.ses.Fail(err)
	}
	w.stop()
}

// silence ends all reports and returns why the session failed, if it did. With
// an error it fails of that.
func (w *writer) silence(err error) error {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.silent = true
	if w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *writer) failure() error {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	return w.err
}

// over: nothing is reported any more.
func (w *writer) over() bool {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	return w.silent
}
