package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twg-io/twg/host/admin/view"
)

// metric is one name with its labels. docs/metrics.md is checked against all.
type metric struct {
	name, help string
	kind       string // gauge, counter, histogram
	labels     []string
	desc       *prometheus.Desc
}

const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

// of is a metric with the value that something has; false: it is not known.
type of[T any] struct {
	metric
	value func(T) (float64, bool)
}

// row makes a metric of a value that is always known.
func row[T any](name, kind, help string, value func(T) float64) of[T] {
	return of[T]{metric{name: name, help: help, kind: kind}, func(x T) (float64, bool) { return value(x), true }}
}

// known makes a metric of a value that is not always known.
func known[T any](name, kind, help string, value func(T) (float64, bool)) of[T] {
	return of[T]{metric{name: name, help: help, kind: kind}, value}
}

// labelled fills in the labels and the description of a table.
func labelled[T any](labels []string, rows []of[T]) []of[T] {
	for i := range rows {
		rows[i].metric = newMetric(rows[i].name, rows[i].kind, rows[i].help, labels...)
	}
	return rows
}

func newMetric(name, kind, help string, labels ...string) metric {
	return metric{name, help, kind, labels, prometheus.NewDesc(name, help, labels, nil)}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// at is a moment, to tell ages by.
type at[T any] struct {
	of  T
	now time.Time
}

// age is how many seconds ago t was; zero: it never was.
func (a at[T]) age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(a.now.Sub(t), 0).Seconds()
}

type onePipeline = at[*view.Pipeline]

var pipelineRows = labelled([]string{"pipeline"}, []of[onePipeline]{
	row("twg_pipeline_running", gauge, "1 while the pipeline runs.", func(a onePipeline) float64 { return bit(!a.of.Ended) }),
	row("twg_pipeline_silence_seconds", gauge, "How long ago the pipeline said where it stands.", func(a onePipeline) float64 { return a.age(a.of.Answered) }),
	row("twg_records_durable_total", counter, "Records that the gating sink has confirmed.", func(a onePipeline) float64 { return float64(a.of.Records) }),
	row("twg_bytes_durable_total", counter, "Frame bytes of the records that the gating sink has confirmed.", func(a onePipeline) float64 { return float64(a.of.Bytes) }),
	row("twg_alarms_total", counter, "Alarms: what the source and a sink say differs, or something is lost.", func(a onePipeline) float64 { return float64(a.of.Alarms) }),
	row("twg_streams", gauge, "Streams that are assigned to this host.", func(a onePipeline) float64 { return float64(len(a.of.Streams)) }),
	row("twg_streams_left_out", gauge, "Streams that have no metrics of their own, because there are too many.", func(a onePipeline) float64 { return float64(max(len(a.of.Streams)-MaxStreams, 0)) }),
	known("twg_lag_records", gauge, "Positions behind the ends of all assigned streams; absent while an end is not known.", totalLag),
	known("twg_lag_seconds", gauge, "The greatest lag of an assigned stream in seconds; absent while an end is not known.", greatestLag),
})

var gateRows = labelled([]string{"pipeline"}, []of[onePipeline]{
	row("twg_gate_in_flight_bytes", gauge, "Frame bytes that were received and are not released.", func(a onePipeline) float64 { return float64(a.of.Gate.InFlightBytes) }),
	row("twg_gate_in_flight_batches", gauge, "Batches that were received and are not durable in full.", func(a onePipeline) float64 { return float64(a.of.Gate.InFlightBatches) }),
	row("twg_gate_oldest_unacknowledged_seconds", gauge, "How long ago the oldest batch came that is not durable in full; 0: there is none.", func(a onePipeline) float64 { return a.age(a.of.Gate.Oldest) }),
	row("twg_gate_receipt_to_commit_seconds", gauge, "For how long something durable has waited to be committed; 0: nothing does.", func(a onePipeline) float64 { return a.age(a.of.Gate.Durable) }),
	row("twg_gate_receipt_to_commit_records", gauge, "Positions that are durable and not committed.", func(a onePipeline) float64 { return uncommitted(a.of.Streams) }),
	row("twg_commits_total", counter, "Commits that were tried.", func(a onePipeline) float64 { return float64(a.of.Gate.Commits) }),
	row("twg_commit_failures_total", counter, "Commits that failed.", func(a onePipeline) float64 { return float64(a.of.Gate.CommitFailures) }),
	row("twg_source_open", gauge, "1 while the source is open.", func(a onePipeline) float64 { return bit(a.of.Source.Open) }),
	row("twg_source_restarts_total", counter, "How often the source was opened again.", func(a onePipeline) float64 { return float64(a.of.Source.Restarts) }),
	row("twg_source_unreachable_seconds", gauge, "For how long the source's servers have not answered; 0: they do.", func(a onePipeline) float64 { return a.age(a.of.Source.Unreachable.Since) }),
	row("twg_sink_open", gauge, "1 while a session with the gating sink is open.", func(a onePipeline) float64 { return bit(a.of.Sink.Open) }),
	row("twg_sink_failing_seconds", gauge, "For how long no write of the gating sink has worked; 0: they do, or there is none.", func(a onePipeline) float64 { return a.age(a.of.Sink.WritesFail.Since) }),
	row("twg_sink_restarts_total", counter, "How often a session with the gating sink has failed.", func(a onePipeline) float64 { return float64(a.of.Sink.Restarts) }),
})

var flowRows = labelled([]string{"pipeline"}, []of[*view.Flow]{
	row("twg_budget_bytes", gauge, "The memory budget.", func(f *view.Flow) float64 { return float64(f.BudgetBytes) }),
	row("twg_budget_granted_bytes", gauge, "What of the budget is used, or given out to the source.", func(f *view.Flow) float64 { return float64(f.Granted) }),
	row("twg_budget_used_bytes", gauge, "What of the budget is used.", func(f *view.Flow) float64 { return float64(f.Used) }),
	row("twg_budget_saturation", gauge, "The used part of what of the budget is in force, from 0 to 1.", func(f *view.Flow) float64 { return f.Saturation }),
	known("twg_budget_warm_up", gauge, "1 while not all of the budget is given out yet; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return bit(f.WarmUp), f.Machine() }),
	known("twg_sink_bottleneck", gauge, "1: the sink is the bottleneck. The budget stays full while memory is low; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return bit(f.SinkBottleneck), f.Machine() }),
	known("twg_budget_limit_bytes", gauge, "What of the budget is in force: less while warming up and under pressure; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return float64(f.LimitBytes), f.Machine() }),
	known("twg_expansion_ratio", gauge, "What a byte of credit that is given to the source is expected to take of the budget; absent while that is not known.", func(f *view.Flow) (float64, bool) { return f.Expansion, f.Expansion > 0 }),
	known("twg_memory_resident_bytes", gauge, "Resident memory of the host and of all its plugins; absent where it cannot be read.", func(f *view.Flow) (float64, bool) { return float64(f.ResidentBytes), f.ResidentBytes > 0 }),
	known("twg_memory_limit_bytes", gauge, "What host and plugins may have together; absent if no limit is known.", func(f *view.Flow) (float64, bool) { return float64(f.MemoryLimit), f.MemoryLimit > 0 }),
	known("twg_memory_ignored", gauge, "1 while memory is high and counts for nothing, because hardly anything is held; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return bit(f.MemoryIgnored), f.Machine() }),
	known("twg_channel_fill", gauge, "The part of the budget that waits for the gating sink to take it, from 0 to 1; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return f.Fill, f.Machine() }),
	known("twg_source_paused", gauge, "1 while the source reads nothing, because of memory or of what waits for the sink; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return bit(f.Paused), f.Machine() }),
	known("twg_backpressure_changes_total", counter, "How often the state of the backpressure machine has changed; absent without one.", func(f *view.Flow) (float64, bool) { return float64(f.StateChanges), f.Machine() }),
	known("twg_sink_write_failures", gauge, "Writes of the gating sink that have failed in a row; absent without a backpressure machine.", func(f *view.Flow) (float64, bool) { return float64(f.WriteFailures), f.Machine() }),
})

var streamRows = labelled([]string{"pipeline", "topic", "partition"}, []of[*view.Stream]{
	row("twg_stream_frontier", gauge, "Everything below this position is durable.", func(s *view.Stream) float64 { return float64(s.Frontier) }),
	known("twg_stream_committed", gauge, "The committed position; absent while there is none.", func(s *view.Stream) (float64, bool) { return float64(s.Committed), s.Committed >= 0 }),
	row("twg_stream_tail", gauge, "Everything below this position was received.", func(s *view.Stream) float64 { return float64(s.Tail) }),
	known("twg_stream_end", gauge, "The stream's end, as its source said last; absent while it has not.", func(s *view.Stream) (float64, bool) { return float64(s.End), s.End >= 0 }),
	known("twg_stream_lag_records", gauge, "Positions between the committed one and the end; absent while that is not known.", func(s *view.Stream) (float64, bool) { return float64(s.Lag), s.Lag >= 0 }),
	known("twg_stream_lag_seconds", gauge, "How long the oldest record that is not committed has been there; absent while that is not known.", func(s *view.Stream) (float64, bool) { return s.LagSeconds, s.LagSeconds >= 0 }),
	row("twg_stream_coverage_holes", gauge, "Gaps below the highest position that the gating sink has confirmed.", func(s *view.Stream) float64 { return float64(s.Holes) }),
})

var laneRows = labelled([]string{"pipeline", "sink"}, []of[*view.Lane]{
	known("twg_lane_open", gauge, "1 while a session of the secondary's live lane is open; absent where there is no live lane.", func(l *view.Lane) (float64, bool) { return bit(l.Open), l.Live }),
	row("twg_lane_buffered_bytes", gauge, "Frame bytes that wait for the secondary.", func(l *view.Lane) float64 { return float64(l.BufferedBytes) }),
	row("twg_lane_rows_total", counter, "Rows that the secondary has confirmed live.", func(l *view.Lane) float64 { return float64(l.Delivered) }),
	row("twg_lane_shed_batches_total", counter, "Batches that found no room in the secondary's buffer, and are rebuilt from raw.", func(l *view.Lane) float64 { return float64(l.ShedBatches) }),
	row("twg_lane_shed_rows_total", counter, "Rows of those batches.", func(l *view.Lane) float64 { return float64(l.ShedRows) }),
	row("twg_lane_set_aside_rows_total", counter, "Rows that the secondary has refused for good.", func(l *view.Lane) float64 { return float64(l.SetAside) }),
	row("twg_lane_given_up_rows_total", counter, "Rows that the secondary refused again and again, and that are rebuilt from raw.", func(l *view.Lane) float64 { return float64(l.GivenUp) }),
	row("twg_lane_restarts_total", counter, "How often a session of the live lane has ended.", func(l *view.Lane) float64 { return float64(l.Restarts) }),
	known("twg_recovery_backlog_windows", gauge, "Windows that are planned and not complete; absent where this host does not recover, or has not looked yet.", func(l *view.Lane) (float64, bool) { return float64(l.BacklogWindows), l.Known() }),
	known("twg_recovery_unclaimed_windows", gauge, "Those of the windows on which no host works; absent where this host does not recover, or has not looked yet.", func(l *view.Lane) (float64, bool) { return float64(l.Unclaimed), l.Known() }),
	known("twg_recovery_live_positions", gauge, "Positions that the secondary lacks above its live floor: on their way, or of streams that no host has; absent where this host does not recover, or has not looked yet.", func(l *view.Lane) (float64, bool) { return float64(l.LivePositions), l.Known() }),
	known("twg_recovery_backlog_positions", gauge, "Positions that the secondary lacks; absent where this host does not recover, or has not looked yet.", func(l *view.Lane) (float64, bool) { return float64(l.BacklogPositions), l.Known() }),
	row("twg_recovery_rebuilt_positions_total", counter, "Positions that this host has rebuilt.", func(l *view.Lane) float64 { return float64(l.Rebuilt) }),
	known("twg_recovery_unrecoverable_positions", gauge, "Positions that the secondary lacks and raw has no longer; absent where this host does not recover, or has not looked yet.", func(l *view.Lane) (float64, bool) { return float64(l.Unrecoverable), l.Known() }),
})

var pluginRows = labelled([]string{"pipeline", "part", "plugin"}, []of[*view.Plugin]{
	row("twg_plugin_up", gauge, "1 while a process of the plugin runs, and is not stopped by a signal.", func(p *view.Plugin) float64 { return bit(p.PID != 0 && !p.Stopped) }),
	row("twg_plugin_restarts_total", counter, "How often the plugin's process was started again.", func(p *view.Plugin) float64 { return float64(p.Restarts) }),
})

// What does not come from a table of values.
var (
	buildInfo    = newMetric("twg_build_info", gauge, "1, with the version.", "version")
	startTime    = newMetric("twg_start_time_seconds", gauge, "When the run began, in seconds since 1970.")
	live         = newMetric("twg_live", gauge, "1 while /live says so.")
	ready        = newMetric("twg_ready", gauge, "1 while /ready says so.")
	notReady     = newMetric("twg_not_ready", gauge, "1 for each reason why the pipeline is not ready.", "pipeline", "reason")
	backpressure = newMetric("twg_backpressure_state", gauge, "1 for the state that the backpressure machine is in, 0 for the others.", "pipeline", "state")
	stuckLevel   = newMetric("twg_stuck_level", gauge, "1 for the level that the stuck detector is at, 0 for the others.", "pipeline", "level")
	furthest     = newMetric("twg_recovery_furthest_behind_positions", gauge, "Positions that the secondary lacks that lacks most; absent where this host does not recover, or has not looked yet.", "pipeline")
	sinkLatency  = newMetric("twg_sink_latency_seconds", histogram, "From when a batch is ready for the gating sink to its last answer; what it waits for the sink to take it counts.", "pipeline", "sink")
	batchBytes   = newMetric("twg_sink_batch_bytes", histogram, "Frame bytes of the batches that were sent to the gating sink.", "pipeline", "sink")
	batchRecords = newMetric("twg_sink_batch_records", histogram, "Records of the batches that were sent to the gating sink.", "pipeline", "sink")
	laneLatency  = newMetric("twg_lane_latency_seconds", histogram, "From a batch's sending to the secondary to its last answer; absent where there is no live lane.", "pipeline", "sink")
	laneBytes    = newMetric("twg_lane_batch_bytes", histogram, "Frame bytes of the batches that were sent to the secondary live; absent where there is no live lane.", "pipeline", "sink")
	laneRecords  = newMetric("twg_lane_batch_records", histogram, "Records of the batches that were sent to the secondary live; absent where there is no live lane.", "pipeline", "sink")
)

// all lists every metric.
func all() []metric {
	out := []metric{buildInfo, startTime, live, ready, notReady, backpressure, stuckLevel, furthest, sinkLatency, batchBytes, batchRecords, laneLatency, laneBytes, laneRecords}
	out = append(out, heads(pipelineRows)...)
	out = append(out, heads(gateRows)...)
	out = append(out, heads(flowRows)...)
	out = append(out, heads(streamRows)...)
	out = append(out, heads(laneRows)...)
	return append(out, heads(pluginRows)...)
}

func heads[T any](rows []of[T]) (out []metric) {
	for _, r := range rows {
		out = append(out, r.metric)
	}
	return out
}
