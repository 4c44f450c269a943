// Package health says from what a host tells about itself whether it lives and
// whether it is ready, with a reason for each thing that is wrong. It has no
// clock and does no I/O.
package health

import (
	"fmt"
	"time"

	"github.com/twg-io/twg/host/admin/view"
)

// Limits are how long something may be wrong before it counts.
type Limits struct {
	// UnreachableAfter is for the source's servers, MaxCommitAge for a record
	// from its arrival to its commit.
	UnreachableAfter, MaxCommitAge time.Duration
}

// WritesFailAfter is how long, and WritesFailTimes how often, all writes of the
// gating sink may have failed before it counts, while a session is open. After a
// plugin was killed once, a sink that confirms when it closes a file needs its time
// to show that writes work again.
const (
	WritesFailAfter = 10 * time.Second
	WritesFailTimes = 2
)

// SilentAfter is how long a pipeline may say nothing before it counts as
// unresponsive. Whether that is a deadlock, which only a new process ends, is
// for the watchdog to say.
const SilentAfter = 5 * time.Second

// Code names a reason; programs may go by it.
type Code string

const (
	Starting          Code = "starting"
	PluginDown        Code = "plugin_down"
	SourceFailing     Code = "source_failing"
	BrokerUnreachable Code = "broker_unreachable"
	TopicAbsent       Code = "topic_absent"
	NoAssignment      Code = "no_assignment"
	SinkFailing       Code = "sink_failing"
	CommitAge         Code = "commit_age"
	RecoveryFailing   Code = "recovery_failing"
	Unresponsive      Code = "unresponsive"
	Stuck             Code = "stuck"
	Stopping          Code = "stopping"
	Ended             Code = "ended"
)

// Codes are all of them.
var Codes = []Code{Starting, PluginDown, SourceFailing, BrokerUnreachable, TopicAbsent, NoAssignment, SinkFailing, CommitAge, RecoveryFailing, Unresponsive, Stuck, Stopping, Ended}

// Reason is one thing that is wrong.
type Reason struct {
	Code     Code   `json:"reason"`
	Pipeline string `json:"pipeline,omitempty"`
	// Part is what it is about: a plugin, a sink.
	Part   string `json:"part,omitempty"`
	Detail string `json:"detail"`
	// Since is when it began, as far as that is known; ForSeconds how long ago.
	Since      time.Time `json:"since,omitzero"`
	ForSeconds float64   `json:"for_seconds,omitempty"`
}

// Verdict is the answer. Notes are what is wrong and keeps nobody from being
// ready: a secondary is never waited for.
type Verdict struct {
	OK      bool      `json:"ok"`
	At      time.Time `json:"at"`
	Reasons []Reason  `json:"reasons"`
	Notes   []Reason  `json:"notes,omitempty"`
}

func (v *Verdict) done() Verdict {
	v.OK = len(v.Reasons) == 0
	if v.Reasons == nil {
		v.Reasons = []Reason{}
	}
	for _, list := range [][]Reason{v.Reasons, v.Notes} {
		for i := range list {
			if !list[i].Since.IsZero() {
				list[i].ForSeconds = max(v.At.Sub(list[i].Since), 0).Seconds()
			}
		}
	}
	return *v
}

// Live reports whether the host should go on: only what is stuck should not.
// What is slow, full or has nobody to talk to lives.
func Live(h *view.Host, now time.Time) Verdict {
	v := Verdict{At: now}
	for i := range h.Pipelines {
		p := &h.Pipelines[i]
		v.Reasons = append(v.Reasons, stuck(p, now)...)
	}
	return v.done()
}

func stuck(p *view.Pipeline, now time.Time) []Reason {
	var out []Reason
	if p.Ended {
		return nil
	}
	if p.Flow.IsStuck() {
		out = append(out, Reason{Code: Stuck, Pipeline: p.Name, Since: p.Flow.StuckSince,
			Detail: fmt.Sprintf("memory is high, nothing is on its way and nothing moves (level %s)", p.Flow.Stuck)})
	}
	if p.Hangs() {
		out = append(out, Reason{Code: Stuck, Pipeline: p.Name, Since: p.HangSince,
			Detail: fmt.Sprintf("the pipeline's loop gives no sign of life (level %s)", p.Hang)})
	}
	return out
}

// silent is how long a pipeline has said nothing.
func silent(p *view.Pipeline, now time.Time) time.Duration { return now.Sub(p.Answered) }

// Ready reports whether every pipeline does its work now.
func Ready(h *view.Host, l Limits, now time.Time) Verdict {
	v := Verdict{At: now}
	if len(h.Pipelines) == 0 {
		v.Reasons = append(v.Reasons, Reason{Code: Starting, Detail: "the plugins are being started", Since: h.Started})
	}
	for i := range h.Pipelines {
		p := &h.Pipelines[i]
		c := check{p: p, l: l, now: now}
		c.all()
		v.Reasons, v.Notes = append(v.Reasons, c.reasons...), append(v.Notes, c.notes...)
	}
	return v.done()
}
