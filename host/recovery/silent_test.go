package recovery

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// silent is a secondary that takes everything and answers nothing.
type silent struct{ sdk.Sink }

func (silent) Open(context.Context, sdk.Session) (sdk.Writer, error) { return &takesAll{}, nil }

// oneBatch is raw with one batch in it.
type oneBatch struct{ b *sdk.Batch }

func (r oneBatch) Replay(_ context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	return []sdk.Span{{Stream: w.Stream, From: w.From, Next: w.Next}}, f(r.b)
}

// A secondary that hangs does not keep a window for ever: the work ends, and
// with it the lease.
func TestWindowOfASecondaryThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sdk.Stream{Cluster: "c", Topic: "t"}
		w := New(Config{Lane: "copy", Raw: oneBatch{replayedFrame(t, s, 10)}, Sink: silent{}, Budget: 1 << 20, WindowDuration: 5 * time.Second,
			Logger: slog.New(slog.DiscardHandler)})
		began := time.Now()
		bound, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := w.deliver(bound, &sdk.RecoveryWindow{Window: sdk.Window{Stream: s, Next: 10}}, []coverage.Interval{{Next: 10}})
		if took := time.Since(began); !errors.Is(err, errSilent) || took != 5*time.Second+answerTime {
			t.Errorf("after %v: %v, want %v", took, err, errSilent)
		}
		w.Close(t.Context())
	})
}
