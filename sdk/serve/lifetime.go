package serve

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/stats"
)

// How long a process waits before it takes its host for gone. It inherits no
// pipe that would tell it, so its connections must.
const (
	neverConnected = 60 * time.Second
	disconnected   = 2 * time.Second
	nothingToDo    = 8 * time.Second
	// lookForParent is how often a process without a connection looks whether
	// the one that started it is still there.
	lookForParent = time.Second
)

// parent is whoever started this process, asked for as early as can be: a host
// may be killed while its plugins start.
var parent = os.Getppid()

// lifetime watches connections and calls, and calls gone once when the host
// is no longer there.
type lifetime struct {
	gone   func(reason string)
	orphan func() bool // the parent is gone

	mu        sync.Mutex
	connected bool // was there ever a connection
	conns     int
	calls     int
	ran       bool // has a session ended
	timer     *time.Timer
	left      bool
}

var _ stats.Handler = (*lifetime)(nil)

func newLifetime(gone func(reason string)) *lifetime {
	return startLifetime(gone, func() bool { return os.Getppid() != parent })
}

func startLifetime(gone func(reason string), orphan func() bool) *lifetime {
	l := &lifetime{gone: gone, orphan: orphan}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rearm()
	time.AfterFunc(lookForParent, l.look)
	return l
}

// look ends an orphan that nobody has connected to. It looks again until there
// is a connection, which tells more.
func (l *lifetime) look() {
	l.mu.Lock()
	due := !l.connected && !l.left
	if due && !l.orphan() {
		time.AfterFunc(lookForParent, l.look)
		due = false
	}
	l.left = l.left || due
	l.mu.Unlock()
	if due {
		l.gone("the host was gone before it had connected")
	}
}

// rearm sets the timer for what is now the case.
func (l *lifetime) rearm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil // one that fires just now is not due any more
	}
	switch {
	case !l.connected:
		l.after(neverConnected, "no host has connected")
	case l.conns == 0:
		l.after(disconnected, "the host is gone")
	case l.ran && l.calls == 0:
		l.after(nothingToDo, "the host has nothing to do for it any more")
	}
}

func (l *lifetime) after(d time.Duration, reason string) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		l.mu.Lock()
		due := l.timer == t && !l.left
		l.left = l.left || due
		l.mu.Unlock()
		if due {
			l.gone(reason)
		}
	})
	l.timer = t
}

// HandleConn counts connections.
func (l *lifetime) HandleConn(_ context.Context, s stats.ConnStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		l.connected = true
		l.conns++
	case *stats.ConnEnd:
		l.conns--
	default:
		return
	}
	l.rearm()
}

// HandleRPC counts the calls of the protocol; go-plugin's own say nothing
// about whether the host has work.
func (l *lifetime) HandleRPC(ctx context.Context, s stats.RPCStats) {
	method, _ := ctx.Value(methodKey{}).(string)
	if !strings.HasPrefix(method, "/twg.v1.") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s.(type) {
	case *stats.Begin:
		l.calls++
	case *stats.End:
		l.calls--
		l.ran = l.ran || strings.HasSuffix(method, "/Run")
	default:
		return
	}
	l.rearm()
}

type methodKey struct{}

// TagRPC keeps the method's name for HandleRPC.
func (l *lifetime) TagRPC(ctx context.Context, t *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, t.FullMethodName)
}

// TagConn has nothing to add.
func (l *lifetime) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
