package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// tailBytes is how much of a log an error shows.
const tailBytes = 3000

// pollEvery is how often readiness is tried.
const pollEvery = 50 * time.Millisecond

// Tail returns the end of a log.
func Tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-tailBytes):])
}

// FreePort returns a loopback port that nobody listens on now. Another
// program may still take it before a server does; a server keeps its port over
// restarts all the same, because outgoing connections avoid ports that a
// listener used a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func pause(ctx context.Context) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
