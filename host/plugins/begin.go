package plugins

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// At its first start a process has nothing to recover from, so its failure is
// told to whoever asked for it. If it was killed, though, that says nothing
// about the plugin: it is started a few times more.
const startTries = 4

var startBackoff = Backoff{First: 100 * time.Millisecond, Max: time.Second, Healthy: time.Hour}

// killedAtStart is in the chain of an error of a process that somebody killed
// before it had said who it is, or what it can do.
type killedAtStart struct{ error }

func (k killedAtStart) Unwrap() error { return k.error }

// configured is a process that runs, with what it said of its settings.
type configured struct {
	*Process
	caps  sdk.Capabilities
	diags sdk.Diagnostics
}

// Launch starts a plugin and asks it what it is. Errors name the file and show
// what the process wrote last. A process that is killed meanwhile is started
// again a few times.
func Launch(ctx context.Context, f File, opt Options) (*Process, error) {
	p, err := persist(ctx, f, opt, launchOnce)
	return p, err
}

// LaunchConfigured is Launch, and Configure with settings. With an error, or
// with errors among the diagnostics, nothing runs.
func LaunchConfigured(ctx context.Context, f File, opt Options, s sdk.Settings) (*Process, sdk.Capabilities, sdk.Diagnostics, error) {
	c, err := persist(ctx, f, opt, func(ctx context.Context, f File, opt Options) (configured, error) {
		return configureOnce(ctx, f, opt, s)
	})
	return c.Process, c.caps, c.diags, err
}

func persist[T any](ctx context.Context, f File, opt Options, try func(context.Context, File, Options) (T, error)) (T, error) {
	d := delays{Backoff: startBackoff}
	for n := 1; ; n++ {
		got, err := try(ctx, f, opt)
		if !Killed(err) || n == startTries || !sleep(ctx, d.next(0)) {
			return got, err
		}
		opt.logger().Warn("a plugin was killed at its start; starting it again", "plugin", f.Name, "error", err)
	}
}

// configureOnce starts and configures a process; none is left behind by an
// error, or by diagnostics with errors.
func configureOnce(ctx context.Context, f File, opt Options, s sdk.Settings) (configured, error) {
	p, err := launchOnce(ctx, f, opt)
	if err != nil {
		return configured{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, opt.startTimeout())
	defer cancel()
	caps, diags, err := p.Configure(ctx, s)
	if err != nil || diags.HasErrors() {
		p.Kill()
		return configured{nil, caps, diags}, err
	}
	return configured{p, caps, diags}, nil
}
