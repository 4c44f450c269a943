package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// vaultSettings configure a fake sink whose store is a file that a script has
// written.
type vaultSettings struct {
	State  string `twg:"state" doc:"file with the store's state"`
	Secret string `twg:"secret,sensitive" doc:"how to log in"`
	Mode   string `twg:"mode" doc:"hang: never answer; fail: refuse, with the secret; bare: claim no store"`
}

// vault is a primary-raw sink. What it is not asked for in these tests it does
// not have: the embedded interface is nil.
type vault struct {
	sdk.RecoveryStore
	set vaultSettings
}

// vaultState is the state in the file.
type vaultState struct {
	Streams []vaultStream
	Windows []vaultWindow
}

type vaultStream struct {
	Topic     string
	Partition int32
	Held      []coverage.Interval
	Pruned    []coverage.Interval
	Floor     int64
	// Young is the first position that is not older than anything.
	Young int64
	Lanes map[string]vaultLane
}

type vaultLane struct {
	Held, Aside []coverage.Interval
	Floor       int64
}

type vaultWindow struct {
	sdk.RecoveryWindow
	Of int // index of the stream
}

func (v *vault) Describe() sdk.Description {
	return sdk.Description{Name: "vault", Version: "2.0", Kind: sdk.KindSink, Schema: sdk.SchemaOf(v.set)}
}

func (v *vault) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := s.Decode(&v.set)
	return sdk.Capabilities{
		Durable: true, Replayable: true, OffsetStore: v.set.Mode != "bare", Idempotent: true,
		Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"file " + v.set.State},
	}, diags
}

// Open must not be called: who asks the store opens no session.
func (v *vault) Open(context.Context, sdk.Session) (sdk.Writer, error) {
	return nil, sdk.Errorf(sdk.KindFatal, "open vault", "nobody should")
}

func (v *vault) Replay(context.Context, sdk.Window, func(*sdk.Batch) error) ([]sdk.Span, error) {
	return nil, sdk.Errorf(sdk.KindFatal, "replay vault", "nobody should")
}

func (v *vault) load(ctx context.Context) (s vaultState, err error) {
	switch v.set.Mode {
	case "hang":
		<-ctx.Done()
		return s, ctx.Err()
	case "fail":
		return s, sdk.Errorf(sdk.KindRetryable, "log in", "refused for %s", v.set.Secret)
	}
	text, err := os.ReadFile(v.set.State)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

func (s vaultStream) stream() sdk.Stream {
	return sdk.Stream{Cluster: "c", Topic: s.Topic, Incarnation: "1", Partition: s.Partition}
}

func (s vaultStream) raw() *coverage.Set {
	var set coverage.Set
	for _, i := range s.Held {
		set.AddHeld(i)
	}
	for _, i := range s.Pruned {
		set.AddVoid(coverage.Void{Interval: i, Reason: coverage.Pruned})
	}
	return &set
}

func (v *vault) Streams(ctx context.Context) (out []sdk.Stream, err error) {
	s, err := v.load(ctx)
	for _, x := range s.Streams {
		out = append(out, x.stream())
	}
	return out, err
}

// each calls f with the state of each stream that is asked for.
func (v *vault) each(ctx context.Context, streams []sdk.Stream, f func(vaultStream)) error {
	s, err := v.load(ctx)
	for _, want := range streams {
		for _, x := range s.Streams {
			if x.stream() == want {
				f(x)
			}
		}
	}
	return err
}

func (v *vault) Coverage(ctx context.Context, lane string, streams []sdk.Stream) (out []sdk.StreamCoverage, err error) {
	err = v.each(ctx, streams, func(x vaultStream) {
		c := sdk.StreamCoverage{Stream: x.stream(), Set: x.raw()}
		if lane != sdk.LaneRaw {
			c.Set, c.SetAside = (vaultStream{Held: x.Lanes[lane].Held}).raw(), x.Lanes[lane].Aside
		}
		out = append(out, c)
	})
	return out, err
}

func (v *vault) Floors(ctx context.Context, lane string, streams []sdk.Stream) (out []sdk.Floors, err error) {
	err = v.each(ctx, streams, func(x vaultStream) {
		out = append(out, sdk.Floors{Stream: x.stream(), Live: x.Lanes[lane].Floor, Raw: x.Floor})
	})
	return out, err
}

func (v *vault) Windows(ctx context.Context, lane string) (out []sdk.RecoveryWindow, err error) {
	s, err := v.load(ctx)
	for _, w := range s.Windows {
		if w.Lane == lane {
			w.Stream = s.Streams[w.Of].stream()
			out = append(out, w.RecoveryWindow)
		}
	}
	return out, err
}

func (v *vault) Prune(ctx context.Context, ps []sdk.Prune, dryRun bool) (out []sdk.Pruned, err error) {
	s, err := v.load(ctx)
	for i := range s.Streams {
		x := &s.Streams[i]
		for _, p := range ps {
			if p.Stream == x.stream() {
				out = append(out, x.prune(p))
			}
		}
	}
	if err != nil || dryRun {
		return out, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(v.set.State, text, 0o644)
}

func (x *vaultStream) prune(p sdk.Prune) sdk.Pruned {
	to := min(p.Below, x.raw().FirstHole())
	if !p.OlderThan.IsZero() {
		if p.OlderThan.After(time.Now()) {
			to = 0
		}
		to = min(to, x.Young)
	}
	out := sdk.Pruned{Stream: p.Stream, RawFloor: max(x.Floor, to), Rows: positions(below(x.Held, to))}
	var left []coverage.Interval
	for _, h := range x.Held {
		if h.From = max(h.From, to); !h.Empty() {
			left = append(left, h)
		}
	}
	x.Held, x.Floor = left, out.RawFloor
	x.Pruned = append(x.Pruned, coverage.Interval{Next: to})
	return out
}
