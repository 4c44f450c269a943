package recovery

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// shaky is a store of which so many calls fail at first.
type shaky struct {
	sdk.RecoveryStore
	fails int
	err   error
	calls int
}

func (s *shaky) Streams(context.Context) ([]sdk.Stream, error) {
	if s.calls++; s.calls <= s.fails {
		return nil, s.err
	}
	return nil, nil
}
func (*shaky) Windows(context.Context, string) ([]sdk.RecoveryWindow, error) { return nil, nil }
func (*shaky) ClaimWindow(context.Context, sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	return nil, nil
}

// A plugin that ends just when it is called is no reason to give up what is to
// be rebuilt; what fails again and again is, and what cannot get better.
func TestAllGoesOnAfterAFailure(t *testing.T) {
	away, broken := errors.New("the connection is gone"), sdk.Errorf(sdk.KindFatal, "read", "broken")
	for _, c := range []struct {
		fails, calls int
		err, want    error
	}{{0, 1, nil, nil}, {2, 3, away, nil}, {9, 3, away, away}, {9, 1, broken, broken}} {
		synctest.Test(t, func(t *testing.T) {
			store := &shaky{fails: c.fails, err: c.err}
			w := New(Config{Lane: "copy", Store: store, LeaseTTL: time.Second, Interval: time.Second, Logger: slog.New(slog.DiscardHandler)})
			if _, err := w.All(t.Context()); !errors.Is(err, c.want) || store.calls != c.calls {
				t.Errorf("%d failures of %v: %v after %d calls, want %v after %d", c.fails, c.err, err, store.calls, c.want, c.calls)
			}
		})
	}
}
