package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// slow are plugins whose sessions take a while to close; they give up when
// they are told to.
type slow struct {
	takes time.Duration
	cut   bool // its context ended first
}

func (s *slow) close(ctx context.Context) error {
	if s.cut = !pause(ctx, s.takes); s.cut {
		return context.Cause(ctx)
	}
	return nil
}

type slowSource struct {
	*fakeSource
	*slow
}

type slowReader struct {
	sdk.Reader
	*slow
}

func (s slowSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	r, err := s.fakeSource.Open(ctx, ev)
	return slowReader{r, s.slow}, err
}

func (r slowReader) Close(ctx context.Context) error {
	return errors.Join(r.slow.close(ctx), r.Reader.Close(ctx))
}

type slowSink struct {
	*fakeSink
	*slow
}

type slowWriter struct {
	sdk.Writer
	*slow
}

func (s slowSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	w, err := s.fakeSink.Open(ctx, ses)
	return slowWriter{w, s.slow}, err
}

func (w slowWriter) Close(ctx context.Context) error {
	return errors.Join(w.slow.close(ctx), w.Writer.Close(ctx))
}

// A stop takes no longer than shutdown_timeout, whatever hangs; and what only
// takes its time is not cut off.
func TestAPluginThatHangsDoesNotHoldUpAStop(t *testing.T) {
	const timeout, never = 8 * time.Second, time.Hour
	for name, c := range map[string]struct {
		source, sink time.Duration // to close
		silent       bool          // the sink answers nothing
		took         time.Duration
		cut          bool
	}{
		"nothing hangs":       {0, 0, false, 0, false},
		"both are slow":       {2 * time.Second, 3 * time.Second, false, 3 * time.Second, false},
		"the source hangs":    {never, 0, false, closeTimeout, true},
		"the sink hangs":      {0, never, false, closeTimeout, true},
		"both hang":           {never, never, false, closeTimeout, true},
		"and nothing durable": {never, never, true, timeout, true},
		"slow, not durable":   {time.Second, time.Second, true, timeout - timeout/4 + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
				sink.script = func(*fakeWriter, *sdk.Batch) bool { return c.silent }
				cfg := config(topic, sink)
				cfg.UntilCaughtUp, cfg.ShutdownTimeout = false, timeout
				source, writer := &slow{takes: c.source}, &slow{takes: c.sink}
				cfg.Source, cfg.Sink = slowSource{cfg.Source.(*fakeSource), source}, slowSink{sink, writer}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- New(cfg).Run(ctx) }()
				time.Sleep(30 * time.Second) // of virtual time
				cancel()
				began := time.Now()
				err := <-done
				if took := time.Since(began); took < c.took || took > c.took+10*time.Millisecond {
					t.Errorf("the stop took %v, want %v", took, c.took)
				}
				if c.silent != errors.Is(err, ErrShutdownTimeout) || source.cut != (c.cut && c.source > 0) || writer.cut != (c.cut && c.sink > 0) {
					t.Errorf("error %v; cut off: source %v, sink %v", err, source.cut, writer.cut)
				}
			})
		})
	}
}
