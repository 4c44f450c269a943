package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

type recoverCmd struct {
	storeFlags
	Sink          string `help:"The secondary sink to rebuild." placeholder:"NAME" required:""`
	From          *int64 `help:"Only from this position of each stream on." placeholder:"POSITION"`
	To            *int64 `help:"Only below this position of each stream." placeholder:"POSITION"`
	RetryRejected bool   `help:"Send also what the sink has refused for good."`
	Orphans       bool   `help:"Take over streams that no host has any more, so that all of them can be rebuilt. Only while no host ingests."`
	JSON          bool   `help:"Print the summary as JSON."`
}

// recoverer rebuilds a secondary.
type recoverer interface {
	// Recover works until nothing of the request is missing, or nothing more
	// can be done for it. It may call progress from one goroutine. When ctx
	// ends it stops in good order, and the result says what was done.
	Recover(ctx context.Context, r recoverRequest, progress func(recoverResult)) (recoverResult, error)
}

// recovererFunc makes a recoverer.
type recovererFunc func(recoverParts) recoverer

// recoverParts is what a recoverer works with.
type recoverParts struct {
	pipeline, owner string
	lane            string
	raw             sdk.Replayer
	store           sdk.RecoveryStore
	sink            sdk.Sink // the secondary, in a process of its own
	caps            sdk.Capabilities
	attempts        int
	recovery        config.Recovery
	limits          sdk.Limits
	log             *slog.Logger
}

// recoverRequest says what is to be rebuilt.
type recoverRequest struct {
	streams func(sdk.Stream) bool
	// from and to bound the positions of each stream.
	from, to      int64
	retryRejected bool
	// orphans: streams are taken over first, and their live floor is set to
	// raw's first hole.
	orphans bool
}

// recoverResult is what came of it, or has come of it so far.
type recoverResult struct {
	// Windows were worked on, and Rebuilt are the positions in them: also those
	// that somebody else had planned. Rejected are positions that the sink has
	// refused for good.
	Windows  int   `json:"windows"`
	Rebuilt  int64 `json:"rebuilt"`
	Rejected int64 `json:"rejected"`
	// Left are positions of the request that are still missing, Live those of them that a host
	// may still deliver live, Unrecoverable those that raw no longer has.
	Left          int64 `json:"left"`
	Live          int64 `json:"live"`
	Unrecoverable int64 `json:"unrecoverable"`
}

func (c *recoverCmd) request() (recoverRequest, error) {
	r := recoverRequest{streams: streamPattern(c.Stream), to: sdk.MaxPosition, retryRejected: c.RetryRejected, orphans: c.Orphans}
	if c.From != nil {
		r.from = *c.From
	}
	if c.To != nil {
		r.to = *c.To
	}
	if r.from < 0 || r.to > sdk.MaxPosition || r.from >= r.to {
		return r, usageError("--from %d --to %d: --from must lie below --to, both between 0 and %d", r.from, r.to, sdk.MaxPosition)
	}
	return r, nil
}

func (c *recoverCmd) Run(ctx context.Context, a *app) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	f, err := c.openStores(ctx, a, func(_ *config.Pipeline, s *config.Sink) bool { return s.Name == c.Sink })
	if err != nil {
		return err
	}
	defer f.close()
	p, err := f.one()
	if err != nil {
		return err
	}
	s, err := c.secondary(p)
	if err != nil {
		return err
	}
	show := newScreen(a.stderr)
	parts, err := c.parts(ctx, f, p, s, a.newLogger(show, f.config.Secrets))
	if err != nil {
		return err
	}
	result, err := a.newRecoverer(parts).Recover(ctx, request, func(r recoverResult) {
		if show.terminal {
			show.show(r.progress(c.Sink))
		}
	})
	show.keep()
	if err != nil {
		return errors.Join(f.about(p, err), c.write(f.app, result))
	}
	return errors.Join(c.write(f.app, result), result.verdict(ctx))
}

// secondary is the sink that is asked for.
func (c *recoverCmd) secondary(p *checkedPipeline) (checkedSink, error) {
	var names []string
	for _, s := range p.secondaries() {
		if s.Name == c.Sink {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if p.gate().Name == c.Sink {
		return checkedSink{}, usageError("sink %q gates: nothing is behind it that it could be rebuilt from", c.Sink)
	}
	return checkedSink{}, usageError("pipeline %q has no secondary sink %q; there are: %s", p.Name, c.Sink, orDash(strings.Join(names, ", ")))
}

// parts starts the plugins: the store must answer before the sink is started.
func (c *recoverCmd) parts(ctx context.Context, f *storeFile, p *checkedPipeline, s checkedSink, log *slog.Logger) (recoverParts, error) {
	store, err := f.store(ctx, p)
	if err != nil {
		return recoverParts{}, err
	}
	var streams []sdk.Stream
	if err := f.read(ctx, p, func(ctx context.Context) (err error) {
		streams, err = store.Streams(ctx)
		return err
	}); err != nil {
		return recoverParts{}, err
	}
	if err := c.matched(p, streams); err != nil {
		return recoverParts{}, err
	}
	sink, err := f.launcher.sink(ctx, s.plugin)
	if err != nil {
		return recoverParts{}, cannotRun(p, s.plugin, err)
	}
	cfg := pipelineConfig(p)
	return recoverParts{
		pipeline: p.Name, owner: cfg.Owner, lane: s.Name, raw: store.(sdk.Replayer), store: store, sink: sink, caps: s.plugin.caps,
		attempts: s.Attempts, recovery: p.Recovery, limits: cfg.Limits, log: log,
	}, nil
}

func (c *recoverCmd) write(a *app, r recoverResult) error {
	if c.JSON {
		return writeJSON(a, r)
	}
	return r.write(a.stdout, c.Sink)
}

// verdict is the exit code: 1 if a record of the request is still missing.
func (r recoverResult) verdict(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case r.Left-r.Live+r.Unrecoverable > 0:
		return &exitError{code: exitRuntime}
	}
	return nil
}

func (r recoverResult) progress(sink string) string {
	return fmt.Sprintf("%s: %s rebuilt, %s left in %s", sink, groupedCount(r.Rebuilt, "position"), grouped(r.Left), groupedCount(int64(r.Windows), "window"))
}

func (r recoverResult) write(w io.Writer, sink string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "rebuilt %s of %q in %s\n", groupedCount(r.Rebuilt, "position"), sink, groupedCount(int64(r.Windows), "window"))
	if r.Rejected > 0 {
		fmt.Fprintf(&b, "refused by the sink: %s\n", groupedCount(r.Rejected, "position"))
	}
	if r.Unrecoverable > 0 {
		fmt.Fprintf(&b, "LOST: %s were pruned before the sink had them\n", groupedCount(r.Unrecoverable, "position"))
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "still missing: %s\n", groupedCount(r.Left, "position"))
	}
	if r.Live > 0 {
		fmt.Fprintf(&b, "of these a host may still deliver: %s; if no host runs any more, add --orphans\n", grouped(r.Live))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
