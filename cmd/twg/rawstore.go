package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// storeFlags are those of the commands that ask a pipeline's offset store,
// which the sink that gates keeps.
type storeFlags struct {
	Pipeline       string        `help:"Only this pipeline of the file." placeholder:"NAME"`
	Stream         string        `help:"Only streams whose topic or topic/partition matches; * stands for any text, ? for one character." placeholder:"PATTERN"`
	ConnectTimeout time.Duration `help:"Give up if the store has not answered for this long; 0: never." default:"30s"`
	File           string        `arg:"" help:"Pipeline file; - reads standard input."`
}

// storeFile is a file whose stores are open.
type storeFile struct {
	*checkedFile
	launcher launcher
	// app is the command's, with secrets hidden in what it prints: a topic's
	// name may be one.
	app     *app
	timeout time.Duration
}

// openStores checks a file and opens the stores of its pipelines by starting
// the plugins of the sinks that gate, and no others but those asked for. The
// caller closes what it returns.
func (f *storeFlags) openStores(ctx context.Context, a *app, also parts) (*storeFile, error) {
	asked := func(p *config.Pipeline, s *config.Sink) bool {
		return (f.Pipeline == "" || f.Pipeline == p.Name) && s != nil && (s.Gates() || also != nil && also(p, s))
	}
	c, err := a.checkParts(ctx, f.File, asked)
	if err != nil {
		return nil, err
	}
	if err := c.report(a); err != nil {
		return nil, err
	}
	if f.Pipeline != "" {
		c.pipelines = slices.DeleteFunc(c.pipelines, func(p *checkedPipeline) bool { return p.Name != f.Pipeline })
		if len(c.pipelines) == 0 {
			return nil, usageError("there is no pipeline %q in %s", f.Pipeline, f.File)
		}
	}
	l, err := a.newLauncher(a.pluginDir(c.config), a.newLogger(a.stderr, c.config.Secrets))
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	onKill(l.kill)
	hiding := *a
	hiding.stdout = hidingWriter{a.stdout, c.config.Secrets}
	return &storeFile{checkedFile: c, launcher: l, app: &hiding, timeout: f.ConnectTimeout}, nil
}

func (f *storeFile) close() { f.launcher.close() }

// one is the pipeline of a command that acts on one.
func (f *storeFile) one() (*checkedPipeline, error) {
	var out []*checkedPipeline
	for _, p := range f.pipelines {
		if len(p.secondaries()) > 0 || len(f.pipelines) == 1 {
			out = append(out, p)
		}
	}
	switch len(out) {
	case 0:
		return nil, usageError("no pipeline of the file has a secondary sink")
	case 1:
		return out[0], nil
	}
	return nil, usageError("several pipelines of the file have secondary sinks: name one with --pipeline")
}

// matched refuses a pattern that no stream of the store matches: what acts on
// streams would say that all is well.
func (f *storeFlags) matched(p *checkedPipeline, streams []sdk.Stream) error {
	if f.Stream == "" || slices.ContainsFunc(streams, streamPattern(f.Stream)) {
		return nil
	}
	return usageError("--stream %s: no stream of sink %q matches; twg status lists them", f.Stream, p.gate().Name)
}

// hasStore reports whether the sink that gates keeps what the commands ask
// for.
func hasStore(p *checkedPipeline) bool {
	caps := p.gate().plugin.caps
	return caps.OffsetStore && caps.Replayable
}

// store starts the plugin of the sink that gates. No session is opened.
func (f *storeFile) store(ctx context.Context, p *checkedPipeline) (sdk.RecoveryStore, error) {
	gate := p.gate()
	if !hasStore(p) {
		return nil, usageError("pipeline %q: sink %q (%s) keeps no store that could be asked: it lacks a capability, offset_store or replayable", p.Name, gate.Name, gate.Plugin)
	}
	sink, err := f.launcher.sink(ctx, gate.plugin)
	if err != nil {
		return nil, cannotRun(p, gate.plugin, err)
	}
	store, ok := sink.(sdk.RecoveryStore)
	if !ok {
		return nil, fmt.Errorf("pipeline %q: plugin %s claims the capabilities offset_store and replayable, and has no recovery store; use another version of it", p.Name, gate.Plugin)
	}
	return store, nil
}

// read calls what asks a store, with the time that there is for it.
func (f *storeFile) read(ctx context.Context, p *checkedPipeline, ask func(context.Context) error) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if f.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, f.timeout)
	}
	defer cancel()
	err := ask(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case limited.Err() != nil:
		err = fmt.Errorf("the store of sink %q has not answered within %s: %w", p.gate().Name, f.timeout, err)
	}
	return &exitError{exitEnvironment, f.about(p, err)}
}

// about names the pipeline in an error, and hides secrets.
func (f *storeFile) about(p *checkedPipeline, err error) error {
	return errors.New(f.config.Secrets.Hide(fmt.Sprintf("pipeline %q: %v", p.Name, err)))
}
