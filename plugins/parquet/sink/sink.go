// Package sink is the Parquet sink: batches of raw records become rows of
// files, and a file that is complete becomes a commit of the log in its
// directory (package dirlog). Its receipts say that the commit is durable.
package sink

import (
	"context"
	"fmt"
	"sync"

	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/lanes"
	"github.com/twg-io/twg/sdk"
)

// Sink implements sdk.Sink, sdk.Replayer and sdk.RecoveryStore.
type Sink struct {
	dial func(path string, create bool) (disk.Dir, error)

	mu     sync.Mutex // held while a log is opened
	set    *Settings
	log    *dirlog.Log
	lanes  *lanes.Store
	writer *writer // the newest session's
}

// New returns the sink of a local directory.
func New() *Sink { return NewOn(disk.Default) }

// NewOn returns a sink on another file layer.
func NewOn(dial func(path string, create bool) (disk.Dir, error)) *Sink { return &Sink{dial: dial} }

// Describe implements sdk.Plugin.
func (*Sink) Describe() sdk.Description {
	return sdk.Description{
		Name:    "parquet",
		Version: "0.1.0",
		Kind:    sdk.KindSink,
		Doc:     "Raw records as Parquet files in a local directory that is a log: files appear complete, once, in order.",
		Schema:  sdk.SchemaOf(Settings{}),
	}
}

// open returns the log, opening it first or, where it broke, again.
func (s *Sink) open(ctx context.Context) (*dirlog.Log, Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		return nil, Settings{}, sdk.Errorf(sdk.KindFatal, "open parquet sink", "it was not configured")
	}
	if s.log != nil && s.log.Broken() == nil {
		return s.log, *s.set, nil
	}
	dir, err := s.dial(s.set.Dir, s.set.Create)
	if err != nil {
		return nil, Settings{}, &sdk.Error{Op: "open directory " + s.set.Dir, Kind: sdk.KindRetryable, Scope: sdk.ScopeSession, Err: err}
	}
	l, err := dirlog.Open(ctx, dir)
	if err != nil {
		dir.Close()
		return nil, Settings{}, err
	}
	s.log = l // a broken one may still be in use by its session
	return l, *s.set, nil
}

// Open implements sdk.Sink. It waits until the previous session's work has
// been committed or aborted.
func (s *Sink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if err := s.endSession(ctx); err != nil {
		return nil, err
	}
	l, set, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(l, set, ses)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.writer = w
	s.mu.Unlock()
	return w, nil
}

func (s *Sink) endSession(ctx context.Context) error {
	s.mu.Lock()
	w := s.writer
	s.mu.Unlock()
	if w == nil {
		return nil
	}
	w.abort()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end session %d: %w", w.ses.ID, ctx.Err())
	}
}
