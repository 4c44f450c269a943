package health

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/admin/view"
)

var limits = Limits{UnreachableAfter: 30 * time.Second, MaxCommitAge: 2 * time.Minute}

// well is a host with nothing wrong.
func well(now time.Time) *view.Host {
	return &view.Host{At: now, Started: now.Add(-time.Hour), Pipelines: []view.Pipeline{{
		Name: "orders", Role: view.RoleBoth, Answered: now,
		Source:  view.Source{Name: "kafka-source", Open: true},
		Sink:    view.Sink{Name: "db", Open: true},
		Streams: []view.Stream{{Topic: "orders", End: 5, Committed: 5}},
		Lanes:   []view.Lane{{Name: "lake", Live: true, Recovers: true, Open: true}},
		Plugins: []view.Plugin{{Name: "kafka-source", Part: "source", PID: 7}, {Name: "postgres", Part: "sink db", PID: 8}, {Name: "parquet", Part: "recovery lake", PID: 9}},
		Flow:    &view.Flow{Stuck: "none", Backpressure: "normal"},
	}}}
}

func fault(now time.Time, age time.Duration) view.Fault {
	return view.Fault{Text: "why", Since: now.Add(-age)}
}

type readyCase struct {
	breaks func(p *view.Pipeline, now time.Time)
	want   []Code // nil: ready
	notes  []Code
	says   string
	dead   bool // /live fails, too
}

var readyCases = map[string]readyCase{
	"nothing is wrong": {breaks: func(*view.Pipeline, time.Time) {}},

	"no process of the source":   {breaks: func(p *view.Pipeline, _ time.Time) { p.Plugins[0].PID, p.Plugins[0].Last = 0, "was killed by signal 9" }, want: []Code{PluginDown}, says: "was killed by signal 9"},
	"the sink's process stopped": {breaks: func(p *view.Pipeline, _ time.Time) { p.Plugins[1].Stopped = true }, want: []Code{PluginDown}, says: "kill -CONT 8"},
	"no process of a secondary":  {breaks: func(p *view.Pipeline, _ time.Time) { p.Plugins[2].PID = 0 }, notes: []Code{PluginDown}},
	"source failed":              {breaks: func(p *view.Pipeline, now time.Time) { p.Source.Failed = fault(now, 0) }, want: []Code{SourceFailing}, says: "why"},
	"unreachable, just":          {breaks: func(p *view.Pipeline, now time.Time) { p.Source.Unreachable = fault(now, 30*time.Second) }, want: []Code{BrokerUnreachable}, says: "why"},
	"unreachable, not yet":       {breaks: func(p *view.Pipeline, now time.Time) { p.Source.Unreachable = fault(now, 30*time.Second-1) }},
	"a topic is not there":       {breaks: func(p *view.Pipeline, now time.Time) { p.Source.Absent = fault(now, time.Minute) }, want: []Code{TopicAbsent}, says: "why"},
	"no assignment":              {breaks: func(p *view.Pipeline, _ time.Time) { p.Streams = nil }, want: []Code{NoAssignment}},
	"sink failing":               {breaks: func(p *view.Pipeline, now time.Time) { p.Sink.Open, p.Sink.Failed = false, fault(now, time.Second) }, want: []Code{SinkFailing}, says: "why"},
	"sink not open yet":          {breaks: func(p *view.Pipeline, _ time.Time) { p.Sink.Open = false }, want: []Code{SinkFailing}},
	"writes fail, just": {breaks: func(p *view.Pipeline, now time.Time) {
		p.Sink.WritesFail, p.Flow.WriteFailures = fault(now, 10*time.Second), 2
	}, want: []Code{SinkFailing}, says: "no write works: why"},
	"writes fail, not yet": {breaks: func(p *view.Pipeline, now time.Time) {
		p.Sink.WritesFail, p.Flow.WriteFailures = fault(now, 10*time.Second-1), 9
	}},
	"one write has failed, the next takes its time": {breaks: func(p *view.Pipeline, now time.Time) {
		p.Sink.WritesFail, p.Flow.WriteFailures = fault(now, time.Minute), 1
	}},
	"not durable, just":    {breaks: func(p *view.Pipeline, now time.Time) { p.Gate.Oldest = now.Add(-2 * time.Minute) }, want: []Code{CommitAge}, says: "not durable"},
	"not durable, not yet": {breaks: func(p *view.Pipeline, now time.Time) { p.Gate.Oldest = now.Add(-2*time.Minute + 1) }},
	"not committed":        {breaks: func(p *view.Pipeline, now time.Time) { p.Gate.Durable = now.Add(-time.Hour) }, want: []Code{CommitAge}, says: "not committed"},
	"commits fail": {breaks: func(p *view.Pipeline, now time.Time) {
		p.Gate.Durable, p.Gate.CommitFailed = now.Add(-time.Hour), fault(now, time.Hour)
	}, want: []Code{CommitAge}, says: "cannot be committed: why"},
	"a commit failed just now":     {breaks: func(p *view.Pipeline, now time.Time) { p.Gate.CommitFailed = fault(now, 0) }},
	"a secondary is down":          {breaks: func(p *view.Pipeline, now time.Time) { p.Lanes[0].Failed = fault(now, time.Hour) }, notes: []Code{SinkFailing}},
	"recovery fails beside":        {breaks: func(p *view.Pipeline, now time.Time) { p.Lanes[0].RecoveryFailed = fault(now, time.Hour) }, notes: []Code{RecoveryFailing}},
	"recovery alone fails":         {breaks: func(p *view.Pipeline, now time.Time) { *p = recoverer(p, fault(now, time.Hour)) }, want: []Code{RecoveryFailing}, says: "why"},
	"recovery alone needs no gate": {breaks: func(p *view.Pipeline, _ time.Time) { *p = recoverer(p, view.Fault{}) }},
	"recovery alone has not looked": {breaks: func(p *view.Pipeline, _ time.Time) {
		*p = recoverer(p, view.Fault{})
		p.Lanes[0].Looked = time.Time{}
	}, want: []Code{Starting}, says: "has not looked"},
	"recovery alone, no process":   {breaks: func(p *view.Pipeline, _ time.Time) { *p = recoverer(p, view.Fault{}); p.Plugins[2].PID = 0 }, want: []Code{PluginDown}},
	"it says nothing":              {breaks: func(p *view.Pipeline, now time.Time) { p.Answered = now.Add(-SilentAfter) }, want: []Code{Unresponsive}},
	"it has said nothing for long": {breaks: func(p *view.Pipeline, now time.Time) { p.Answered = now.Add(-time.Hour) }, want: []Code{Unresponsive}},
	"it hangs: warn":               {breaks: func(p *view.Pipeline, now time.Time) { p.Hang, p.HangSince = "warn", now }},
	"it hangs: unhealthy":          {breaks: func(p *view.Pipeline, now time.Time) { p.Hang, p.HangSince = "unhealthy", now }, want: []Code{Stuck}, says: "no sign of life", dead: true},
	"it hangs: exit":               {breaks: func(p *view.Pipeline, now time.Time) { p.Hang, p.HangSince = "exit", now }, want: []Code{Stuck}, dead: true},
	"stuck: warn":                  {breaks: func(p *view.Pipeline, _ time.Time) { p.Flow.Stuck = "warn" }},
	"stuck: unhealthy":             {breaks: func(p *view.Pipeline, _ time.Time) { p.Flow.Stuck = "unhealthy" }, want: []Code{Stuck}, dead: true},
	"stuck: exit":                  {breaks: func(p *view.Pipeline, _ time.Time) { p.Flow.Stuck = "exit" }, want: []Code{Stuck}, dead: true},
	"saturated, and critical": {breaks: func(p *view.Pipeline, _ time.Time) {
		p.Flow.Saturation, p.Flow.Backpressure, p.Flow.SinkBottleneck = 1, "critical", true
	}},
	"no flow control": {breaks: func(p *view.Pipeline, _ time.Time) { p.Flow = nil }},
	"stopping":        {breaks: func(p *view.Pipeline, _ time.Time) { p.Stopping, p.Sink.Open = true, false }, want: []Code{Stopping}},
	"ended":           {breaks: func(p *view.Pipeline, now time.Time) { p.Ended, p.Answered = true, now.Add(-time.Hour) }, want: []Code{Ended}},
	"two things at once": {breaks: func(p *view.Pipeline, now time.Time) {
		p.Streams, p.Source.Unreachable = nil, fault(now, time.Hour)
	}, want: []Code{BrokerUnreachable, NoAssignment}},
}

// Each thing that is wrong has its reason, and nothing else has.
func TestReady(t *testing.T) {
	for name, c := range readyCases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			h := well(now)
			c.breaks(&h.Pipelines[0], now)
			v := Ready(h, limits, now)
			if got := codes(v.Reasons); !slices.Equal(got, c.want) || v.OK != (c.want == nil) {
				t.Errorf("ready: %v %v, want %v", v.OK, got, c.want)
			}
			if got := codes(v.Notes); !slices.Equal(got, c.notes) {
				t.Errorf("notes: %v, want %v", got, c.notes)
			}
			if c.says != "" && !strings.Contains(v.Reasons[0].Detail, c.says) {
				t.Errorf("the detail %q does not say %q", v.Reasons[0].Detail, c.says)
			}
			if live := Live(h, now); live.OK == c.dead {
				t.Errorf("live: %v %v, want %v", live.OK, live.Reasons, !c.dead)
			}
		})
	}
}

// recoverer is the pipeline in a host that only rebuilds.
func recoverer(p *view.Pipeline, f view.Fault) view.Pipeline {
	return view.Pipeline{Name: p.Name, Role: view.RoleRecovery, Answered: p.Answered, Plugins: p.Plugins,
		Lanes: []view.Lane{{Name: "lake", Recovers: true, Looked: p.Answered, RecoveryFailed: f}}}
}

func codes(rs []Reason) (out []Code) {
	for _, r := range rs {
		out = append(out, r.Code)
	}
	return out
}

func TestReadyBeforeTheStart(t *testing.T) {
	now := time.Now()
	h := &view.Host{Started: now.Add(-3 * time.Second)}
	if v := Ready(h, limits, now); v.OK || v.Reasons[0].Code != Starting || v.Reasons[0].ForSeconds != 3 {
		t.Errorf("%+v", v)
	}
	if !Live(h, now).OK {
		t.Error("a host that starts is not dead")
	}
}

// What the verdict says turns when the time comes, and back with the cause.
func TestReadyTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := well(time.Now())
		p := &h.Pipelines[0]
		p.Source.Unreachable = view.Fault{Text: "nobody answers", Since: time.Now()}
		began := time.Now()
		for Ready(h, limits, time.Now()).OK {
			time.Sleep(time.Second)
			p.Answered = time.Now()
			if time.Since(began) > time.Hour {
				t.Fatal("it never turns")
			}
		}
		if got := time.Since(began); got != limits.UnreachableAfter {
			t.Errorf("turned after %s, want %s", got, limits.UnreachableAfter)
		}
		p.Source.Unreachable = view.Fault{}
		if v := Ready(h, limits, time.Now()); !v.OK {
			t.Errorf("it does not turn back: %+v", v.Reasons)
		}
	})
}
