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

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
)

// lockName is the lock file's name in the plugin directory.
const lockName = "twg-plugins.lock"

// programs is the product's launcher: plugin programs in a directory.
type programs struct {
	dir  string
	opt  plugins.Options
	mu   sync.Mutex
	open []*plugins.Process
}

// newLauncher reads the directory's lock file, if there is one.
func newLauncher(dir string, log *slog.Logger) (launcher, error) {
	lock, err := plugins.ReadLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	return &programs{dir: dir, opt: plugins.Options{Logger: log, Lock: lock}}, nil
}

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
	sum, err := fileSHA256(f.Path)
	if err != nil {
		return nil, err
	}
	p, err := plugins.Launch(ctx, f, l.opt)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.open = append(l.open, p)
	l.mu.Unlock()
	return &process{Plugin: asked{ctx, p}, File: f.Path, SHA256: sum}, nil
}

// asked is a process as an sdk.Plugin.
type asked struct {
	ctx context.Context
	p   *plugins.Process
}

func (a asked) Describe() sdk.Description { return a.p.Describe() }

func (a asked) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	caps, diags, err := a.p.Configure(a.ctx, s)
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
	wg.Wait()
	l.open = nil
}

func (l *programs) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *programs) source(context.Context, *checkedPlugin) (sdk.Source, error) {
	return nil, errors.New("not wired yet")
}

func (l *programs) sink(context.Context, *checkedPlugin) (sdk.Sink, error) {
	return nil, errors.New("not wired yet")
}
