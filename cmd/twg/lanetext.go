package main

import (
	"strings"

	"github.com/twg-io/twg/host/pipeline"
)

// laneLine tells how a secondary does: what it got live, what it missed, and
// what recovery has left to do.
func laneLine(s pipeline.SecondaryStatus) string {
	var parts []string
	say := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, grouped(n)+" "+what)
		}
	}
	if live := s.Live; live.Name != "" {
		if !live.Open {
			parts = append(parts, "no session")
		}
		parts = append(parts, grouped(live.Delivered)+" live")
		say(live.ShedRows, "shed")
		say(live.GivenUp, "given up")
		say(live.Unflushed, "not flushed")
		say(live.Unanswered, "not answered")
	}
	say(s.Live.SetAside+s.Backlog.SetAside, "set aside")
	say(s.Backlog.Rebuilt, "rebuilt")
	say(s.Backlog.Positions, "to rebuild")
	if s.Live.Name == "" { // a host that only recovers: others deliver that, or nobody
		say(s.Backlog.Live, "above the live floor, left to hosts that ingest")
	}
	say(s.Backlog.Unrecoverable, "LOST")
	if len(parts) == 0 {
		parts = append(parts, "nothing to rebuild")
	}
	return s.Name + ": " + strings.Join(parts, ", ")
}

// laneSummary is what run --json says about a secondary.
type laneSummary struct {
	Name string `json:"name"`
	// Delivered, Shed and GivenUp are rows of the live lane.
	Delivered int64 `json:"delivered"`
	Shed      int64 `json:"shed"`
	GivenUp   int64 `json:"given_up"`
	// Unanswered are rows that it had been sent when the run ended: they are on
	// their way, and rebuilt only once a host has their streams again.
	Unanswered int64 `json:"unanswered"`
	// Rejected are rows that the sink refused for good, live or rebuilt.
	Rejected int64 `json:"rejected"`
	// Rebuilt, Missing and Lost are positions, as recovery saw them last.
	Rebuilt int64    `json:"rebuilt"`
	Missing int64    `json:"missing"`
	Lost    int64    `json:"lost"`
	Targets []string `json:"targets"`
}

func newLaneSummary(s pipeline.SecondaryStatus, targets []string) laneSummary {
	return laneSummary{
		Name: s.Name, Delivered: s.Live.Delivered, Shed: s.Live.ShedRows, GivenUp: s.Live.GivenUp, Unanswered: s.Live.Unanswered, Rejected: s.Live.SetAside + s.Backlog.SetAside,
		Rebuilt: s.Backlog.Rebuilt, Missing: s.Backlog.Positions, Lost: s.Backlog.Unrecoverable, Targets: targets,
	}
}
