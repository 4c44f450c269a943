package source

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"github.com/twg-io/twg/plugins/socket-source/framing"
	"github.com/twg-io/twg/sdk"
)

// reader is an open source. Its goroutines, all ended by Close: serve, which
// accepts, and one or two a connection.
type reader struct {
	set     *Settings
	log     *slog.Logger
	sparse  sparse
	events  sdk.Events
	limits  sdk.Limits
	stream  *stream
	decoder framing.Decoder
	tls     *tls.Config // nil: none

	// seats bounds connections without resume; speaker is the peer that speaks
	// for the stream with it.
	seats   chan struct{}
	speaker speaker

	life    context.Context // ends with Close; it is no call's
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	closing sync.Once
}

func open(set *Settings, log *slog.Logger, ev sdk.Events) (*reader, error) {
	r := &reader{
		set: set, log: log, events: ev, limits: ev.Limits(), decoder: decoderOf(set),
		stream: newStream(sdk.Stream{Cluster: set.Cluster, Topic: set.Stream}), seats: make(chan struct{}, set.MaxConnections),
	}
	if set.TLS != nil {
		var err error
		if r.tls, err = set.TLS.config(); err != nil {
			return nil, sdk.Errorf(sdk.KindFatal, "read TLS settings", "%w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.life, r.cancel = ctx, cancel
	r.wg.Go(func() { r.serve(ctx) })
	return r, nil
}

func decoderOf(set *Settings) framing.Decoder {
	if set.Framing == "length" {
		return framing.Length{Most: int(set.MaxFrameBytes)}
	}
	return framing.Lines{Most: int(set.MaxFrameBytes)}
}

// fail ends the source, unless it is being closed.
func (r *reader) fail(err error) {
	if r.life.Err() == nil {
		r.events.Fail(err)
	}
}

// Resolve implements sdk.Reader. What peers still have to send is not known:
// the latest position is that of the next record.
func (r *reader) Resolve(_ context.Context, queries []sdk.Query) ([]sdk.Resolved, error) {
	out := make([]sdk.Resolved, len(queries))
	for i, q := range queries {
		switch {
		case q.Stream != r.stream.id:
			return nil, sdk.Errorf(sdk.KindFenced, "resolve "+q.At.String(), "%s is not assigned", q.Stream)
		case q.At != sdk.StartEarliest:
			return nil, sdk.Errorf(sdk.KindFatal, "resolve "+q.At.String(), "nobody knows what peers are going to send: begin at the earliest")
		}
		out[i] = sdk.Resolved{Stream: q.Stream}
	}
	return out, nil
}

// Start implements sdk.Reader. That the stream ends where it begins is all that
// can be said: a host that runs until it has caught up has nothing to do.
func (r *reader) Start(ctx context.Context, starts []sdk.Start) error {
	for _, s := range starts {
		if s.Position < 0 || s.Position >= sdk.MaxPosition {
			return sdk.Errorf(sdk.KindFatal, "start "+s.Stream.String(), "%d is not a position", s.Position)
		}
		if err := r.stream.begin(ctx, r.life, s); err != nil {
			return err
		}
		r.events.Lag([]sdk.Lag{{Stream: s.Stream, Run: s.Run, End: s.Position, AtMS: time.Now().UnixMilli()}})
	}
	return nil
}

// Commit implements sdk.Reader.
func (r *reader) Commit(_ context.Context, marks []sdk.Mark) []error {
	var out []error
	for i, m := range marks {
		if err := r.stream.commit(m); err != nil {
			if out == nil {
				out = make([]error, len(marks))
			}
			out[i] = err
		}
	}
	return out
}

// Drop implements sdk.Reader.
func (r *reader) Drop(ctx context.Context, runs []uint64) error { return r.stream.drop(ctx, runs) }

// Close implements sdk.Reader. Nothing is reported once it has returned.
func (r *reader) Close(context.Context) error {
	r.closing.Do(func() {
		r.cancel()
		r.wg.Wait()
	})
	return nil
}
