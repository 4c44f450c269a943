package main

import (
	"context"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

type statusCmd struct {
	storeFlags
	JSON bool `help:"Print JSON."`
}

// Run asks stores only. What the source's own server has committed is not
// among it: asking would mean to join the source's group, and to take streams
// from those who run.
func (c *statusCmd) Run(ctx context.Context, a *app) error {
	f, err := c.openStores(ctx, a, nil)
	if err != nil {
		return err
	}
	defer f.close()
	out := fileStatus{File: f.config.Filename}
	for _, p := range f.pipelines {
		s, err := c.pipeline(ctx, f, p)
		if err != nil {
			return err
		}
		out.Pipelines = append(out.Pipelines, s)
	}
	if c.JSON {
		return writeJSON(f.app, out)
	}
	return out.write(f.app.stdout)
}

func (c *statusCmd) pipeline(ctx context.Context, f *storeFile, p *checkedPipeline) (pipelineStatus, error) {
	out := pipelineStatus{Name: p.Name, Gate: p.gate().Name}
	if !hasStore(p) && len(f.pipelines) > 1 {
		out.Note = "its sink keeps no store that could be asked"
		return out, nil
	}
	store, err := f.store(ctx, p)
	if err != nil {
		return out, err
	}
	err = f.read(ctx, p, func(ctx context.Context) error {
		s, err := readStanding(ctx, store, laneNames(p), streamPattern(c.Stream))
		if err == nil {
			out.fill(s)
		}
		return err
	})
	return out, err
}

func laneNames(p *checkedPipeline) (names []string) {
	for _, s := range p.secondaries() {
		names = append(names, s.Name)
	}
	return names
}

// fileStatus is what twg status --json prints.
type fileStatus struct {
	File      string           `json:"file"`
	Pipelines []pipelineStatus `json:"pipelines"`
}

type pipelineStatus struct {
	Name    string         `json:"name"`
	Gate    string         `json:"gate"`
	Note    string         `json:"note,omitempty"`
	Streams []streamStatus `json:"streams"`
	Windows []windowStatus `json:"windows"`
	Backlog backlog        `json:"backlog"`
}

type streamStatus struct {
	streamName
	// Raw is the sink that gates, Lanes are the secondaries.
	Raw   rawStatus    `json:"raw"`
	Lanes []laneStatus `json:"lanes"`
}

type rawStatus struct {
	// FirstHole is the frontier: everything below it is held or void.
	FirstHole int64 `json:"first_hole"`
	Floor     int64 `json:"floor"`
	Held      int64 `json:"held"`
	Holes     int   `json:"holes"`
	Missing   int64 `json:"missing"`
}

type laneStatus struct {
	Sink string `json:"sink"`
	// FirstHole is the first position that raw holds and the lane lacks; raw's
	// first hole if there is none.
	FirstHole int64 `json:"first_hole"`
	LiveFloor int64 `json:"live_floor"`
	Held      int64 `json:"held"`
	// Holes and Missing are about what raw holds below its first hole.
	Holes    int   `json:"holes"`
	Missing  int64 `json:"missing"`
	SetAside int64 `json:"set_aside"`
	// Lost was pruned from raw before the lane had it.
	Lost int64 `json:"lost"`
}

type windowStatus struct {
	ID   uint64 `json:"id"`
	Sink string `json:"sink"`
	streamName
	From          int64  `json:"from"`
	Next          int64  `json:"next"`
	State         string `json:"state"`
	RetrySetAside bool   `json:"retry_rejected"`
	Holder        string `json:"holder,omitempty"`
	Fence         uint64 `json:"fence"`
	LeaseVersion  uint64 `json:"lease_version"`
	// LeaseSeconds is what is left of the lease by the store's clock; nil: it
	// has none.
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
}

// backlog is what recovery still has to do (V4).
type backlog struct {
	// Windows are open or claimed, Unclaimed those of them that nobody works on;
	// Positions are all that is to be rebuilt, planned or not.
	Windows   int   `json:"windows"`
	Unclaimed int   `json:"unclaimed"`
	Positions int64 `json:"positions"`
	// Furthest is the sink that is furthest behind raw, and Lag by how much,
	// what is on its way to it included.
	Furthest string `json:"furthest,omitempty"`
	Lag      int64  `json:"lag"`
	// Live is missing above the live floors: on its way, or of streams that no
	// host has.
	Live int64 `json:"live"`
	// Lost can no longer be rebuilt.
	Lost  int64         `json:"lost"`
	Sinks []sinkBacklog `json:"sinks"`
}

// sinkBacklog is one sink's part of it.
type sinkBacklog struct {
	Sink      string `json:"sink"`
	Windows   int    `json:"windows"`
	Unclaimed int    `json:"unclaimed"`
	Positions int64  `json:"positions"`
	Live      int64  `json:"live"`
	Lag       int64  `json:"lag"`
	Lost      int64  `json:"lost"`
}

func newBacklog(t recovery.Total) backlog {
	out := backlog{Windows: t.Windows, Unclaimed: t.Unclaimed, Positions: t.Positions, Furthest: t.Furthest, Lag: t.FurthestLag, Live: t.Live,
		Lost: t.Unrecoverable, Sinks: []sinkBacklog{}}
	for _, s := range t.Sinks {
		out.Sinks = append(out.Sinks, sinkBacklog{s.Lane, s.Windows, s.Unclaimed, s.Positions, s.Live, s.Lag(), s.Unrecoverable})
	}
	return out
}

func (p *pipelineStatus) fill(s *standing) {
	p.Streams, p.Windows = []streamStatus{}, []windowStatus{}
	for i, stream := range s.streams {
		raw := s.raw[i]
		holes := raw.Holes(coverage.Interval{Next: raw.End()})
		x := streamStatus{streamName: nameOf(stream), Lanes: []laneStatus{},
			Raw: rawStatus{raw.FirstHole(), s.floors[i], positions(raw.Held()), len(holes), positions(holes)}}
		for _, l := range s.lanes {
			x.Lanes = append(x.Lanes, l.streams[i].status(l.name))
		}
		p.Streams = append(p.Streams, x)
	}
	var sinks []recovery.SinkBacklog
	for _, l := range s.lanes {
		for _, w := range l.windows {
			p.Windows = append(p.Windows, newWindowStatus(l.name, w))
		}
		sinks = append(sinks, recovery.SinkBacklog{Lane: l.name, Backlog: s.backlog(l)})
	}
	p.Backlog = newBacklog(recovery.Sum(sinks))
}

func (l laneStream) status(sink string) laneStatus {
	return laneStatus{
		Sink: sink, FirstHole: l.firstHole, LiveFloor: l.liveFloor, Held: positions(l.held.Held()),
		Holes: len(l.missing), Missing: positions(l.missing), SetAside: positions(l.aside), Lost: positions(l.lost),
	}
}

func newWindowStatus(sink string, w sdk.RecoveryWindow) windowStatus {
	out := windowStatus{
		ID: w.ID, Sink: sink, streamName: nameOf(w.Stream), From: w.From, Next: w.Next, State: w.State.String(),
		RetrySetAside: w.RetrySetAside, Holder: w.Holder, Fence: w.Fence, LeaseVersion: w.LeaseVersion,
	}
	if w.State == sdk.WindowClaimed && w.Lease != sdk.NoClock {
		left := max(w.Lease, 0).Seconds()
		out.LeaseSeconds = &left
	}
	return out
}
