package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/twg-io/twg/host/admin/view"
	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/host/plugins"
)

// view is what a pipeline said last, without secrets.
func (p *looked) view(secrets *config.Secrets) view.Pipeline {
	s, o := &p.status, &p.status.Observed
	hide := func(err error) string { return secrets.Hide(errorText(err)) }
	v := view.Pipeline{
		Name: p.run.Name, Role: view.Role(p.run.Role), Ended: p.ended, Stopping: o.Stopping, Answered: p.answered,
		Records: s.Records, Bytes: s.Bytes, Alarms: int64(s.Alarms),
		Gate: view.Gate{
			InFlightBytes: s.InFlight, InFlightBatches: int64(o.Batches), Oldest: o.Oldest, Durable: o.Uncommitted,
			Commits: o.Commits, CommitFailures: o.CommitFailures, CommitFailed: view.Fault{Text: hide(o.CommitError), Since: o.CommitSince},
		},
		Sink:    sinkView(p, hide),
		Streams: []view.Stream{}, Plugins: p.plugins(secrets), Flow: flowView(p),
	}
	v.Hang, v.HangSince = p.hang()
	if p.run.source != nil {
		v.Source = sourceView(p, hide)
		v.Source.Unreachable = view.Fault{Text: secrets.Hide(o.Pending), Since: o.PendingSince}
		v.Source.Absent = view.Fault{Text: secrets.Hide(o.Absent), Since: o.AbsentSince}
	}
	for _, st := range s.Streams {
		v.Streams = append(v.Streams, streamView(st, secrets))
	}
	for _, lane := range s.Secondaries {
		v.Lanes = append(v.Lanes, p.lane(lane, hide))
	}
	return v
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func sourceView(p *looked, hide func(error) string) view.Source {
	o := &p.status.Observed
	return view.Source{Name: p.run.source.name, Open: o.SourceOpen, Restarts: int64(p.status.SourceRestarts),
		Failed: view.Fault{Text: hide(o.SourceError), Since: o.SourceSince}}
}

func sinkView(p *looked, hide func(error) string) view.Sink {
	s, o := &p.status, &p.status.Observed
	return view.Sink{
		Name: p.run.gate().Name, Open: s.SinkOpen, Restarts: int64(s.SinkRestarts), Failed: view.Fault{Text: hide(s.SinkError), Since: o.SinkSince},
		WritesFail: view.Fault{Text: hide(s.Flow.WriteError), Since: s.Flow.WriteFailing},
		Latency:    histogramView(&o.Latency), BatchBytes: histogramView(&o.BatchBytes), BatchRecords: histogramView(&o.BatchRecords),
	}
}

func histogramView(h *pipeline.Histogram) view.Histogram {
	if len(h.Bounds) == 0 { // the pipeline has not said anything yet
		return view.Histogram{}
	}
	return view.Histogram{Bounds: h.Bounds, Counts: slices.Clone(h.Counts[:len(h.Bounds)+1]), Sum: h.Sum}
}

// streamView: a topic's name may be a secret, too.
func streamView(st pipeline.StreamStatus, secrets *config.Secrets) view.Stream {
	v := view.Stream{
		Topic: secrets.Hide(st.Stream.Topic), Partition: st.Stream.Partition, Incarnation: st.Stream.Incarnation,
		Committed: max(st.Committed, -1), Frontier: st.Frontier, Tail: st.Tail, End: st.End, Lag: -1, LagSeconds: -1, Holes: int64(st.Holes),
	}
	if st.End >= 0 {
		v.Lag, v.LagSeconds = st.Lag(), st.LagAge.Seconds()
	}
	return v
}

func (p *looked) lane(s pipeline.SecondaryStatus, hide func(error) string) view.Lane {
	l, b := &s.Live, &s.Backlog
	v := view.Lane{
		Name: s.Name, Live: p.run.Role != config.RoleRecovery, Recovers: p.run.Role != config.RoleIngest, Open: l.Open,
		BufferedBytes: l.Buffered, Delivered: l.Delivered, ShedBatches: l.Sheds, ShedRows: l.ShedRows, SetAside: l.SetAside + b.SetAside,
		GivenUp: l.GivenUp, Restarts: l.Restarts,
		Looked: b.At, Unclaimed: int64(b.Unclaimed), LivePositions: b.Live,
		BacklogWindows: int64(b.Windows), BacklogPositions: b.Positions, Rebuilt: b.Rebuilt, Unrecoverable: b.Unrecoverable,
	}
	m := &s.Measured
	v.Latency, v.BatchBytes, v.BatchRecords = histogramView(&m.Latency), histogramView(&m.BatchBytes), histogramView(&m.BatchRecords)
	if !l.Open {
		v.Failed = view.Fault{Text: hide(l.Err), Since: p.since["lane "+s.Name]}
	}
	v.RecoveryFailed = view.Fault{Text: hide(b.Err), Since: p.since["recovery "+s.Name]}
	return v
}

// flowView is what flow control said last; nil for a host that only recovers.
func flowView(p *looked) *view.Flow {
	if p.run.source == nil {
		return nil
	}
	f := &p.status.Flow
	v := &view.Flow{
		BudgetBytes: f.Budget, Granted: f.Used + f.Granted, Used: f.Used, Saturation: min(f.Saturation, 1), WarmUp: f.WarmingUp,
		Backpressure: f.State.String(), Stuck: view.StuckLevels[f.Stuck], SinkBottleneck: f.SinkIsBottleneck,
		LimitBytes: f.Limit, Expansion: f.Expansion, ResidentBytes: f.Resident, MemoryLimit: f.MemoryLimit,
		MemoryIgnored: f.MemoryIgnored, Fill: f.Waiting,
		Paused: f.Paused, StateChanges: f.Changes, WriteFailures: f.WriteFailures,
	}
	if f.Stuck > flow.Moving {
		v.StuckSince = p.answered.Add(-f.Stalled)
	}
	return v
}

// hang is what the watchdog says now. The pipeline itself is not asked.
func (p *looked) hang() (level string, since time.Time) {
	l, silent := p.run.pipe.Hang()
	if l > flow.Moving {
		since = time.Now().Add(-silent)
	}
	return view.StuckLevels[l], since
}

// supervised is a plugin whose process is started again when it ends.
type supervised interface{ Status() plugins.Status }

// pluginProcess is one of a pipeline's processes.
type pluginProcess struct {
	part string // view.Plugin
	supervised
}

// processesOf lists the processes that a pipeline was made of.
func processesOf(p *checkedPipeline, cfg *pipeline.Config) []pluginProcess {
	var out []pluginProcess
	add := func(part string, plugin any) {
		if w, ok := plugin.(watchedSource); ok {
			plugin = w.Source
		}
		if s, ok := plugin.(supervised); ok {
			out = append(out, pluginProcess{part, s})
		}
	}
	add("source", cfg.Source)
	add("sink "+p.gate().Name, cfg.Sink)
	for _, s := range cfg.Secondaries {
		add("sink "+s.Name, s.Sink)
		add("recovery "+s.Name, s.Recovery)
	}
	return out
}

func (p *looked) plugins(secrets *config.Secrets) []view.Plugin {
	out := []view.Plugin{}
	for _, x := range p.run.processes {
		s := x.Status()
		out = append(out, view.Plugin{Name: s.Name, Part: x.part, PID: s.PID, Stopped: stopped(s.PID), Restarts: int64(s.Restarts),
			Last: secrets.Hide(errorText(s.Last))})
	}
	return out
}

// stopped reports whether a process was stopped by a signal, or by a debugger.
// Its session ends after three pings without an answer; this is known at once.
func stopped(pid int) bool {
	if pid == 0 {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // gone, or a system without /proc
	}
	_, after, ok := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	return ok && len(after) > 0 && (after[0] == 'T' || after[0] == 't')
}
