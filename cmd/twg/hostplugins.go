package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
)

// lockName is the lock file's name in the plugin directory.
const lockName = "twg-plugins.lock"

// programs is the product's launcher: plugin programs in a directory.
type programs struct {
	dir string
	opt plugins.Options

	mu         sync.Mutex
	open       []*plugins.Process
	supervised []*plugins.Supervisor
}

func newLauncher(dir string, log *slog.Logger) (launcher, error) {
	opt, err := pluginOptions(dir, log)
	if err != nil {
		return nil, err
	}
	return &programs{dir: dir, opt: opt}, nil
}

// pluginOptions reads the directory's lock file, if there is one.
func pluginOptions(dir string, log *slog.Logger) (plugins.Options, error) {
	lock, err := plugins.ReadLock(filepath.Join(dir, lockName))
	return plugins.Options{Logger: log, Lock: lock}, err
}

const killPatience = time.Second

// missingPlugin is errNoPlugin with what is there instead.
type missingPlugin struct{ error }

func (missingPlugin) Is(target error) bool { return target == errNoPlugin }

func (l *programs) find(name string) (plugins.File, error) {
	f, err := plugins.Find([]string{l.dir}, name)
	_, missing := errors.AsType[*plugins.NotFoundError](err)
	if missing || errors.Is(err, os.ErrNotExist) {
		err = missingPlugin{err}
	}
	return f, err
}

func (l *programs) ask(ctx context.Context, name string) (*process, error) {
	f, err := l.find(name)
	if err != nil {
		return nil, err
	}
	p, err := plugins.Launch(ctx, f, l.opt)
	if err != nil {
		return nil, err
	}
	l.keep(p)
	configure := func(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics, error) {
		caps, diags, err := p.Configure(ctx, s)
		if plugins.Killed(err) {
			l.opt.Logger.Warn("a plugin was killed while it was asked; asking another process", "plugin", name, "error", err)
			var again *plugins.Process
			again, caps, diags, err = plugins.LaunchConfigured(ctx, f, l.opt, s)
			l.keep(again)
		}
		return caps, diags, err
	}
	digest := func() (string, error) { return fileSHA256(f.Path) }
	return &process{Plugin: asked{p.Describe, configure}, File: f.Path, digest: digest}, nil
}

// keep has close end a process; nil: there is none.
func (l *programs) keep(p *plugins.Process) {
	if p != nil {
		l.mu.Lock()
		l.open = append(l.open, p)
		l.mu.Unlock()
	}
}

// asked is a process as an sdk.Plugin.
type asked struct {
	describe  func() sdk.Description
	configure func(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics, error)
}

func (a asked) Describe() sdk.Description { return a.describe() }

func (a asked) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	caps, diags, err := a.configure(s)
	if err != nil {
		diags.Errorf("", "The plugin did not answer", err.Error())
	}
	return caps, diags
}

func (l *programs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range l.open {
		wg.Go(func() { p.Stop(context.Background()) })
	}
	for _, s := range l.supervised {
		wg.Go(s.Close)
	}
	wg.Wait()
	l.open, l.supervised = nil, nil
}

func (l *programs) pids() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]int, 0, len(l.open)+len(l.supervised))
	for _, p := range l.open {
		out = append(out, p.PID())
	}
	for _, s := range l.supervised {
		if pid := s.Status().PID; pid > 0 {
			out = append(out, pid)
		}
	}
	return out
}

// kill does not wait for a close that is under way: it may be what hangs. Who
// only asks for the processes is done soon.
func (l *programs) kill() {
	for end := time.Now().Add(killPatience); !l.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return
		}
	}
	defer l.mu.Unlock()
	for _, s := range l.supervised {
		if pid := s.Status().PID; pid > 0 {
			_ = syscall.Kill(-pid, syscall.SIGKILL) // a plugin leads a group of its own
		}
	}
	for _, p := range l.open {
		p.Kill()
	}
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (l *programs) source(ctx context.Context, p *checkedPlugin) (sdk.Source, error) {
	s, err := l.supervise(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.Source(), nil
}

func (l *programs) sink(ctx context.Context, p *checkedPlugin) (sdk.Sink, error) {
	s, err := l.supervise(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.Sink(), nil
}

// supervise runs the very file that was asked.
func (l *programs) supervise(ctx context.Context, p *checkedPlugin) (*plugins.Supervisor, error) {
	f := plugins.File{Name: p.name, Path: p.process.File}
	s, diags, err := plugins.Supervise(ctx, plugins.Spec{File: f, Settings: p.settings, Options: l.opt})
	if err != nil {
		return nil, err
	}
	if diags.HasErrors() {
		return nil, fmt.Errorf("it refuses now the settings that it accepted before: %s", diags[0].Summary)
	}
	l.mu.Lock()
	l.supervised = append(l.supervised, s)
	l.mu.Unlock()
	return s, nil
}
