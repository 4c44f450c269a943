package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
)

// Describe returns what the plugin said when it was launched.
func (p *Process) Describe() sdk.Description { return p.plugin.Describe() }

// Configure gives the plugin its settings.
func (p *Process) Configure(ctx context.Context, s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics, error) {
	caps, diags, err := p.plugin.Configure(ctx, s)
	if err == nil {
		return caps, diags, nil
	}
	killed := ctx.Err() == nil && p.killedBy(err)
	if err = p.explain(err); killed {
		err = &sdk.Error{Kind: sdk.KindRetryable, Scope: sdk.ScopePlugin, Err: killedAtStart{err}}
	}
	return caps, diags, err
}

// Killed reports whether err is that of a process which somebody killed before
// it had answered. Another process may well answer.
func Killed(err error) bool {
	_, killed := errors.AsType[killedAtStart](err)
	return killed
}

// Source is the plugin as a source.
func (p *Process) Source() sdk.Source { return p.plugin.Source() }

// Sink is the plugin as a sink, with what caps say it can do besides.
func (p *Process) Sink(caps sdk.Capabilities) sdk.Sink { return p.plugin.Sink(caps) }

// PID is the process's number.
func (p *Process) PID() int { return p.child.Load().pid }

// Done is closed once the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.child.Load().done }

// killedBy reports whether it was a signal of somebody else that ended the
// process, and with that brought err about.
func (p *Process) killedBy(err error) bool {
	c := p.child.Load()
	if c == nil || c.pid == 0 || p.why.Load() != nil {
		return false
	}
	if _, answered := errors.AsType[*sdk.Error](err); answered && !errors.Is(err, wire.ErrConnection) {
		return false
	}
	select {
	case <-c.done:
		return c.signaled()
	case <-time.After(exitWait):
		return false
	}
}

// retire kills the process for a reason that ended tells.
func (p *Process) retire(why error) {
	p.why.CompareAndSwap(nil, &why)
	p.Kill()
}

// ended says how the process ended.
func (p *Process) ended() string {
	if why := p.why.Load(); why != nil {
		return fmt.Sprintf("was replaced: %v", *why)
	}
	return p.child.Load().ended()
}

// kill ends the process but does not clean up after it.
func (p *Process) kill() {
	if c := p.child.Load(); c != nil {
		c.Kill(context.Background())
	}
}

// Kill ends the process now and waits for its end.
func (p *Process) Kill() {
	p.kill()
	p.client.Kill()
}

// Stop asks the process to end and kills it when ctx ends, or after two
// seconds. Its session must have been closed.
func (p *Process) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, p.kill)()
	p.client.Kill()
}

// exitWait is how long an error of the connection waits for the process's end,
// which explains it.
const exitWait = time.Second

// errUnwinding marks an error by which a plugin's side of a stream was
// canceled, though nobody here did that: a program that panics runs its
// deferred functions before it ends.
var errUnwinding = errors.New("the plugin canceled its stream")

// explain adds to an error how the process ended, if it did, and what it wrote
// last.
func (p *Process) explain(err error) error {
	if err == nil {
		return nil
	}
	wait := time.Duration(0)
	if errors.Is(err, wire.ErrConnection) || errors.Is(err, errUnwinding) {
		wait = exitWait
	}
	select {
	case <-p.Done():
	case <-time.After(wait):
		return err
	}
	return &sdk.Error{Op: "plugin " + p.file.Name, Kind: sdk.KindOf(err), Scope: sdk.ScopePlugin,
		Err: fmt.Errorf("%w; process %d %s%s", err, p.PID(), p.ended(), p.tail)}
}
