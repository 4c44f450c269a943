package recovery

import (
	"context"
	"fmt"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Read asks the store about streams in a lane; nil streams: all that it has.
func Read(ctx context.Context, store sdk.RecoveryStore, lane string, streams []sdk.Stream) ([]Known, error) {
	var err error
	if streams == nil {
		if streams, err = store.Streams(ctx); err != nil {
			return nil, fmt.Errorf("list streams: %w", err)
		}
	}
	if len(streams) == 0 {
		return nil, nil
	}
	// Windows come first: one that is completed meanwhile still looks taken.
	windows, err := store.Windows(ctx, lane)
	if err != nil {
		return nil, fmt.Errorf("read windows: %w", err)
	}
	out, index, err := read(ctx, store, lane, streams)
	if err != nil {
		return nil, err
	}
	for _, w := range windows {
		if i, ok := index[w.Stream]; ok {
			out[i].Windows = append(out[i].Windows, w)
		}
	}
	return out, nil
}

// read is Read without windows, of which there may be thousands.
func read(ctx context.Context, store sdk.RecoveryStore, lane string, streams []sdk.Stream) ([]Known, map[sdk.Stream]int, error) {
	out := make([]Known, len(streams))
	index := make(map[sdk.Stream]int, len(streams))
	for i, s := range streams {
		out[i] = Known{Stream: s, Raw: &coverage.Set{}, Lane: &coverage.Set{}, Floors: sdk.Floors{Stream: s}}
		index[s] = i
	}
	// The lane is read before raw, and the floor first of all: what is read
	// later can only have more, so nothing looks missing that raw never held.
	floors, err := store.Floors(ctx, lane, streams)
	if err != nil {
		return nil, nil, fmt.Errorf("read floors: %w", err)
	}
	for _, f := range floors {
		if i, ok := index[f.Stream]; ok {
			out[i].Floors = f
		}
	}
	if err := readLane(ctx, store, lane, streams, out, index); err != nil {
		return nil, nil, err
	}
	raw, err := store.Coverage(ctx, sdk.LaneRaw, streams)
	if err != nil {
		return nil, nil, fmt.Errorf("read raw's coverage: %w", err)
	}
	for _, c := range raw {
		if i, ok := index[c.Stream]; ok && c.Set != nil {
			out[i].Raw = c.Set
		}
	}
	return out, index, nil
}

func readLane(ctx context.Context, store sdk.RecoveryStore, lane string, streams []sdk.Stream, out []Known, index map[sdk.Stream]int) error {
	covs, err := store.Coverage(ctx, lane, streams)
	if err != nil {
		return fmt.Errorf("read coverage of lane %s: %w", lane, err)
	}
	for _, c := range covs {
		if i, ok := index[c.Stream]; ok && c.Set != nil {
			out[i].Lane, out[i].SetAside = c.Set, c.SetAside
		}
	}
	return nil
}
