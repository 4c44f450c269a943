package plugins

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// Spec is what a supervisor runs.
type Spec struct {
	File     File
	Settings sdk.Settings
	Options  Options
	Backoff  Backoff
}

// Supervisor owns one plugin process: it starts it, configures it, notices
// its end and starts it anew. Nothing that happens to one plugin's process
// touches another's. All methods may be called from any goroutine.
type Supervisor struct {
	spec  Spec
	desc  sdk.Description
	caps  sdk.Capabilities
	stop  context.CancelCauseFunc
	ended chan struct{}

	mu      sync.Mutex
	now     state
	changed chan struct{} // closed and replaced when now changes
}

// state is what a supervisor's process is doing.
type state struct {
	proc     *Process // nil: none runs
	restarts int
	last     error // why the last process ended or did not start
	fatal    bool  // no other will be started
}

// Status is for people and metrics.
type Status struct {
	Name string
	// PID is zero while no process runs.
	PID      int
	Restarts int
	// Last says why the last process ended; nil: none has.
	Last error
}

var errStopped = errors.New("the plugin has been stopped")

// Supervise launches a plugin and configures it. Without error diagnostics it
// keeps it running until Close. An error, or diagnostics with errors: nothing
// runs.
func Supervise(ctx context.Context, spec Spec) (*Supervisor, sdk.Diagnostics, error) {
	spec.Backoff = spec.Backoff.orDefault()
	s := &Supervisor{spec: spec, ended: make(chan struct{}), changed: make(chan struct{})}
	p, caps, diags, err := LaunchConfigured(ctx, spec.File, spec.Options, spec.Settings)
	if err != nil || diags.HasErrors() {
		return nil, diags, err
	}
	s.desc, s.caps, s.now.proc = p.Describe(), caps, p
	run, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s.stop = stop
	go s.run(run, p)
	return s, diags, nil
}

// run replaces the process whenever it has ended.
func (s *Supervisor) run(ctx context.Context, p *Process) {
	defer close(s.ended)
	d := delays{Backoff: s.spec.Backoff}
	for began := time.Now(); ; began = time.Now() {
		var err error
		if p != nil {
			err = s.attend(ctx, p)
		}
		if ctx.Err() != nil {
			return
		}
		s.set(func(st *state) {
			st.proc = nil
			if err != nil {
				st.last = err
			}
		})
		if !sleep(ctx, d.next(time.Since(began))) {
			return
		}
		if p = s.again(ctx); p == nil && s.gaveUp() {
			return
		}
	}
}

// attend waits for the end of a process and says how it ended.
func (s *Supervisor) attend(ctx context.Context, p *Process) error {
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(context.Background())
		return nil
	}
	p.Kill() // cleans up after it
	s.spec.Options.logger().Warn("a plugin's process has ended", "plugin", s.spec.File.Name, "pid", p.PID(), "how", p.ended())
	return fmt.Errorf("plugin %s: process %d %s%s", s.spec.File.Name, p.PID(), p.ended(), p.tail)
}

// again starts the next process; nil: it did not work.
func (s *Supervisor) again(ctx context.Context) *Process {
	c, err := configureOnce(ctx, s.spec.File, s.spec.Options, s.spec.Settings)
	p, caps, diags := c.Process, c.caps, c.diags
	switch {
	case err == nil && diags.HasErrors():
		err = sdk.Errorf(sdk.KindFatal, "configure plugin "+s.spec.File.Path, "the settings were accepted before, and now: %s", summary(diags))
	case err == nil && !sameNature(caps, s.caps):
		p.Kill()
		p, err = nil, sdk.Errorf(sdk.KindFatal, "restart plugin "+s.spec.File.Path, "its capabilities are other than before; check the pipeline again with twg validate")
	}
	if ctx.Err() != nil && p != nil {
		p.Kill()
		return nil
	}
	s.set(func(st *state) {
		st.proc = p
		st.restarts++
		if err != nil {
			st.last, st.fatal = err, sdk.KindOf(err) == sdk.KindFatal
		}
	})
	return p
}

// sameNature: what a pipeline was validated against still holds.
func sameNature(a, b sdk.Capabilities) bool {
	return a.Position == b.Position && a.Origin == b.Origin && a.Durable == b.Durable && a.DurableFlush == b.DurableFlush && a.Replayable == b.Replayable &&
		a.OffsetStore == b.OffsetStore && a.Fencing == b.Fencing && a.Idempotent == b.Idempotent && a.AppendOnly == b.AppendOnly &&
		a.HoldsUntilClose == b.HoldsUntilClose
}

func summary(diags sdk.Diagnostics) string {
	for _, d := range diags {
		if d.Severity == sdk.SeverityError {
			return d.Summary
		}
	}
	return "nothing"
}

func (s *Supervisor) gaveUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.fatal
}

// set changes the state and wakes whoever waits for it.
func (s *Supervisor) set(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.now)
	close(s.changed)
	s.changed = make(chan struct{})
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// live waits for a process that is configured and runs.
func (s *Supervisor) live(ctx context.Context) (*Process, error) {
	for {
		s.mu.Lock()
		st, changed := s.now, s.changed
		s.mu.Unlock()
		switch {
		case st.fatal:
			return nil, st.last
		case st.proc != nil && running(st.proc):
			return st.proc, nil
		}
		select {
		case <-changed:
		case <-s.ended:
			if !s.gaveUp() {
				return nil, &sdk.Error{Op: "use plugin " + s.spec.File.Name, Kind: sdk.KindRetryable, Scope: sdk.ScopePlugin, Err: errStopped}
			}
		case <-ctx.Done():
			return nil, s.waited(ctx, st.last)
		}
	}
}

func running(p *Process) bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// waited says what was waited for in vain.
func (s *Supervisor) waited(ctx context.Context, last error) error {
	err := fmt.Errorf("wait for plugin %s: %w", s.spec.File.Name, context.Cause(ctx))
	if last != nil {
		err = fmt.Errorf("%w; before that: %w", err, last)
	}
	return &sdk.Error{Kind: sdk.KindRetryable, Scope: sdk.ScopePlugin, Err: err}
}

// Describe returns what the plugin says it is.
func (s *Supervisor) Describe() sdk.Description { return s.desc }

// Capabilities are those of the plugin with its settings.
func (s *Supervisor) Capabilities() sdk.Capabilities { return s.caps }

// Status says how the process is doing.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.spec.File.Name, Restarts: s.now.restarts, Last: s.now.last}
	if s.now.proc != nil && running(s.now.proc) {
		st.PID = s.now.proc.PID()
	}
	return st
}

// Close stops the process and waits for it, also when it is being restarted.
// A process that does not stop within two seconds is killed. Sessions must
// have been closed: what is open is aborted.
func (s *Supervisor) Close() {
	s.stop(errStopped)
	<-s.ended
}
