package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

type rawCmd struct {
	Prune rawPruneCmd `cmd:"" help:"Delete old rows from a primary-raw sink, except those that a secondary still lacks."`
}

type rawPruneCmd struct {
	storeFlags
	Below         *int64 `help:"Delete below this position of each stream." placeholder:"POSITION"`
	OlderThan     string `help:"Delete rows older than this, by their timestamp: 30d, 12h." placeholder:"AGE"`
	DryRun        bool   `help:"Delete nothing, and say what would be deleted."`
	KeepRejected  bool   `help:"Keep also rows that a secondary has refused, so that they can still be retried."`
	EvenIfMissing bool   `help:"Delete also what a secondary still lacks. It cannot be rebuilt any more."`
	JSON          bool   `help:"Print JSON."`
}

// parseAge reads a duration, which may be in days.
func parseAge(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int64
		if n, err = strconv.ParseInt(days, 10, 32); err == nil {
			d = time.Duration(n) * 24 * time.Hour
		}
	}
	if err != nil || d <= 0 {
		return 0, usageError("--older-than %s: write a number with a unit: 30d, 12h, 90m", text)
	}
	return d, nil
}

// limits are what the flags say, apart from what secondaries lack.
func (c *rawPruneCmd) limits(now time.Time) (below int64, older time.Time, err error) {
	below = sdk.MaxPosition
	if c.Below == nil && c.OlderThan == "" {
		return 0, older, usageError("say what is to go: --below POSITION, --older-than AGE, or both")
	}
	if c.Below != nil {
		if below = *c.Below; below < 0 || below > sdk.MaxPosition {
			return 0, older, usageError("--below %d: a position lies between 0 and %d", below, sdk.MaxPosition)
		}
	}
	if c.OlderThan != "" {
		age, err := parseAge(c.OlderThan)
		if err != nil {
			return 0, older, err
		}
		older = now.Add(-age)
	}
	return below, older, nil
}

func (c *rawPruneCmd) Run(ctx context.Context, a *app) error {
	below, older, err := c.limits(time.Now())
	if err != nil {
		return err
	}
	f, err := c.openStores(ctx, a, nil)
	if err != nil {
		return err
	}
	defer f.close()
	p, err := f.one()
	if err != nil {
		return err
	}
	store, err := f.store(ctx, p)
	if err != nil {
		return err
	}
	var s *standing
	if err := f.read(ctx, p, func(ctx context.Context) (err error) {
		s, err = readStanding(ctx, store, laneNames(p), streamPattern(c.Stream))
		return err
	}); err != nil {
		return err
	}
	if err := c.matched(p, s.streams); err != nil {
		return err
	}
	asked, report := c.ask(s, below, older)
	done, err := store.Prune(ctx, asked, c.DryRun)
	if err != nil {
		return f.about(p, fmt.Errorf("prune sink %q: %w; what was deleted before stays deleted, and the same command goes on", p.gate().Name, err))
	}
	report.Gate = p.gate().Name
	report.done(done, s)
	if c.JSON {
		return writeJSON(f.app, report)
	}
	return report.write(f.app.stdout)
}
