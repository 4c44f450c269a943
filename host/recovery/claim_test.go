package recovery

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// leases is a store in which one window is claimed by somebody else.
type leases struct {
	sdk.RecoveryStore
	window sdk.RecoveryWindow
}

func (l *leases) ClaimWindow(_ context.Context, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	if c.ID == l.window.ID && c.LeaseVersion == l.window.LeaseVersion {
		return &l.window, nil
	}
	return nil, nil
}

func (l *leases) Windows(context.Context, string) ([]sdk.RecoveryWindow, error) {
	return []sdk.RecoveryWindow{l.window}, nil
}

// A lease that the store's clock will not end in time is watched for that time;
// one that changes is not taken, and neither is one that the clock ends.
func TestLeaseThatDoesNotEndIsTakenOver(t *testing.T) {
	const ttl = 30 * time.Second
	cases := []struct {
		name    string
		lease   time.Duration
		renewed bool
		taken   bool
	}{
		{"no clock", sdk.NoClock, false, true},
		{"the clock was set back", ttl + time.Hour, false, true},
		{"no clock, and the holder lives", sdk.NoClock, true, false},
		{"the clock was set back, and the holder lives", ttl + time.Hour, true, false},
		{"the clock ends it", ttl, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &leases{window: sdk.RecoveryWindow{ID: 7, State: sdk.WindowClaimed, Lease: c.lease, LeaseVersion: 1}}
				r := New(Config{Lane: "copy", Store: store, LeaseTTL: ttl, Logger: slog.New(slog.DiscardHandler)})
				var got *sdk.RecoveryWindow
				for begun := time.Now(); got == nil && time.Since(begun) < 3*ttl; time.Sleep(ttl / 10) {
					var err error
					if got, err = r.claim(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got != nil && time.Since(begun) < ttl {
						t.Errorf("taken after %s, before its time is over", time.Since(begun))
					}
					if c.renewed {
						store.window.LeaseVersion++
					}
				}
				if (got != nil) != c.taken {
					t.Errorf("taken over: %t, want %t", got != nil, c.taken)
				}
			})
		})
	}
}
