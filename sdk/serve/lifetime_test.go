package serve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/stats"
)

// watched is a lifetime whose end a test can see.
func watched() (*lifetime, chan string) {
	gone := make(chan string, 10)
	return newLifetime(func(reason string) { gone <- reason }), gone
}

func (l *lifetime) connect()    { l.HandleConn(context.Background(), &stats.ConnBegin{}) }
func (l *lifetime) disconnect() { l.HandleConn(context.Background(), &stats.ConnEnd{}) }

func (l *lifetime) call(method string, s stats.RPCStats) {
	l.HandleRPC(l.TagRPC(context.Background(), &stats.RPCTagInfo{FullMethodName: method}), s)
}

const run = "/twg.v1.Sink/Run"

func TestWhenAPluginEnds(t *testing.T) {
	tests := map[string]struct {
		life func(*lifetime)
		ends time.Duration // after life; 0: never
	}{
		"nobody comes":      {func(*lifetime) {}, neverConnected},
		"the host dies":     {func(l *lifetime) { l.connect(); l.call(run, &stats.Begin{}); l.call(run, &stats.End{}); l.disconnect() }, disconnected},
		"it comes back":     {func(l *lifetime) { l.connect(); l.disconnect(); time.Sleep(time.Second); l.connect() }, 0},
		"configured, idle":  {func(l *lifetime) { l.connect(); time.Sleep(time.Hour) }, 0},
		"the session ended": {func(l *lifetime) { l.connect(); l.call(run, &stats.Begin{}); l.call(run, &stats.End{}) }, nothingToDo},
		"a session runs":    {func(l *lifetime) { l.connect(); l.call(run, &stats.Begin{}); time.Sleep(time.Hour) }, 0},
		"one of two has ended": {func(l *lifetime) {
			l.connect()
			l.call(run, &stats.Begin{})
			l.call(run, &stats.Begin{})
			l.call(run, &stats.End{})
		}, 0},
		"another came in time": {func(l *lifetime) {
			l.connect()
			l.call(run, &stats.Begin{})
			l.call(run, &stats.End{})
			time.Sleep(nothingToDo - 1)
			l.call(run, &stats.Begin{})
		}, 0},
		"a health check is no work": {func(l *lifetime) {
			l.connect()
			l.call(run, &stats.Begin{})
			l.call(run, &stats.End{})
			time.Sleep(nothingToDo / 2)
			l.call("/grpc.health.v1.Health/Check", &stats.Begin{})
		}, nothingToDo / 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, gone := watched()
				tt.life(l)
				began := time.Now()
				select {
				case reason := <-gone:
					if d := time.Since(began); d != tt.ends {
						t.Errorf("ended after %v (%s), want %v", d, reason, tt.ends)
					}
				case <-time.After(time.Hour):
					if tt.ends != 0 {
						t.Error("it goes on")
					}
				}
				time.Sleep(time.Hour)
				if len(gone) > 0 {
					t.Error("it ended twice")
				}
			})
		})
	}
}

func TestAnOrphanIsGoneInTenSeconds(t *testing.T) {
	if disconnected+settleTime >= 10*time.Second || nothingToDo >= 10*time.Second {
		t.Error("the bounds do not add up")
	}
}

// A host that is killed while it starts a plugin never connects.
func TestAnOrphanEndsThoughNobodyHasConnected(t *testing.T) {
	for name, tt := range map[string]struct {
		orphanAfter time.Duration
		connect     bool
		ends        bool
	}{
		"at once":                  {0, false, true},
		"later":                    {5 * time.Second, false, true},
		"the connection says more": {5 * time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				gone := make(chan string, 10)
				l := startLifetime(func(reason string) { gone <- reason }, func() bool { return time.Since(began) >= tt.orphanAfter })
				if tt.connect {
					l.connect()
				}
				time.Sleep(tt.orphanAfter + lookForParent)
				synctest.Wait()
				if got := len(gone) == 1; got != tt.ends {
					t.Errorf("ended %t, want %t", got, tt.ends)
				}
			})
		})
	}
}
