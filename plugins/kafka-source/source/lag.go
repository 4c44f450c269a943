package source

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

const lagEvery = time.Second

// reportLag tells the host about once a second, and soon after a Start, where
// the running streams end.
func (r *reader) reportLag(ctx context.Context) {
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.lagWanted:
		}
		if lags := r.measureLag(ctx); len(lags) > 0 && ctx.Err() == nil {
			r.events.Lag(lags)
		}
	}
}

// measureLag asks where the running streams end. What cannot be had now comes
// with the next tick.
func (r *reader) measureLag(ctx context.Context) []sdk.Lag {
	running := r.table.running()
	if len(running) == 0 {
		return nil
	}
	at := make(map[partition]int64, len(running))
	for _, s := range running {
		at[partition{s.Stream.Topic, s.Stream.Partition}] = atLatest
	}
	asking, cancel := context.WithTimeout(ctx, 10*lagEvery)
	defer cancel()
	answers, err := listOffsets(asking, r.client, at)
	if ctx.Err() == nil {
		r.answered(err)
	}
	if err != nil {
		r.log.Debug("list offsets for lag", "error", err)
		return nil
	}
	now := time.Now().UnixMilli()
	lags := make([]sdk.Lag, 0, len(running))
	for _, s := range running {
		a := answers[partition{s.Stream.Topic, s.Stream.Partition}]
		if a.err == nil && a.position >= 0 {
			lags = append(lags, sdk.Lag{Stream: s.Stream, Run: s.Run, End: a.position, AtMS: now})
		}
	}
	return lags
}
