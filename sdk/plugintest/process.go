package plugintest

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
)

// bench launches a plugin's program and ends what it launched.
type bench struct {
	t      testing.TB
	file   plugins.File
	launch []*plugins.Process
}

func newBench(t testing.TB, binary string) *bench {
	b := &bench{t: t, file: plugins.File{Name: strings.TrimPrefix(filepath.Base(binary), plugins.Prefix), Path: binary}}
	t.Cleanup(b.end)
	return b
}

func (b *bench) end() {
	for _, p := range b.launch {
		p.Kill()
	}
}

// start launches one more process. ping: see plugins.Options.
func (b *bench) start(ping time.Duration) *plugins.Process {
	p, err := plugins.Launch(context.Background(), b.file, plugins.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), PingInterval: ping})
	must(err, "launch the plugin")
	b.launch = append(b.launch, p)
	return p
}

// configured launches a process and gives it settings that it must accept.
func (b *bench) configured(settings string, ping time.Duration) (*plugins.Process, sdk.Capabilities) {
	p := b.start(ping)
	caps, diags := configure(p, settings)
	if diags.HasErrors() {
		failf("configure: the settings are refused: %+v", diags)
	}
	return p, caps
}

func configure(p *plugins.Process, settings string) (sdk.Capabilities, sdk.Diagnostics) {
	ctx, cancel := soon()
	defer cancel()
	caps, diags, err := p.Configure(ctx, sdk.NewSettings([]byte(settings)))
	must(err, "configure")
	return caps, diags
}

// interrupt sends what Ctrl-C sends, and gives it a moment.
func (b *board) interrupt(p *plugins.Process) {
	must(syscall.Kill(p.PID(), syscall.SIGINT), "send SIGINT")
	b.within(quiet/5, func() bool { return false })
}

// terminate asks a process to end with SIGTERM.
func terminate(p *plugins.Process) {
	must(syscall.Kill(p.PID(), syscall.SIGTERM), "send SIGTERM")
	select {
	case <-p.Done():
	case <-time.After(orphanTime):
		failf("the process runs %v after SIGTERM", orphanTime)
	}
}

// soon is a context for what must not take long.
func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// ended is a context that has ended: closing with it aborts.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// board is a state that changes, and that tests wait on.
type board struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newBoard() *board { return &board{changed: make(chan struct{})} }

// set changes what the board guards.
func (b *board) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// get reads what the board guards.
func (b *board) get(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// within waits for a condition and reports whether it came true in time.
func (b *board) within(d time.Duration, ok func() bool) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	for {
		b.mu.Lock()
		done, changed := ok(), b.changed
		b.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return false
		}
	}
}

// eventually polls a condition that another process brings about.
func eventually(d time.Duration, ok func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		if ok() {
			return true
		}
	}
	return ok()
}
