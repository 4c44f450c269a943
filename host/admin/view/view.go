// Package view is what a host tells about itself: plain values that health,
// metrics and twg top are made from, and that /status gives as JSON. Whoever
// runs pipelines fills it in; texts in it hold no secret.
package view

import "time"

// Host is one process at one moment.
type Host struct {
	At        time.Time  `json:"at"`
	Started   time.Time  `json:"started"`
	Version   string     `json:"version"`
	Pipelines []Pipeline `json:"pipelines"`
}

// Role is which half of the work a pipeline does.
type Role string

const (
	RoleIngest   Role = "ingest"
	RoleRecovery Role = "recovery"
	RoleBoth     Role = "both"
)

// Ingests reports whether the pipeline has a source and a gate.
func (r Role) Ingests() bool { return r != RoleRecovery }

// Pipeline is where one pipeline stands.
type Pipeline struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Ended: it runs no more; what else is said is how it ended.
	Ended bool `json:"ended,omitempty"`
	// Stopping: it was asked to end, or must.
	Stopping bool `json:"stopping,omitempty"`
	// Answered is when the pipeline itself last said where it stands.
	Answered time.Time `json:"answered"`
	// Hang is one of StuckLevels: what is thought of the pipeline's loop from
	// outside of it. HangSince is when that gave its last sign of life; zero: a
	// moment ago.
	Hang      string    `json:"hang,omitempty"`
	HangSince time.Time `json:"hang_since,omitzero"`

	Records int64 `json:"records"` // durable, by this process
	Bytes   int64 `json:"bytes"`   // their frames
	Alarms  int64 `json:"alarms"`

	Source  Source   `json:"source"`
	Sink    Sink     `json:"sink"` // the one that gates
	Gate    Gate     `json:"gate"`
	Streams []Stream `json:"streams"`
	Lanes   []Lane   `json:"lanes,omitempty"`
	Plugins []Plugin `json:"plugins"`
	// Flow is nil where there is no flow control.
	Flow *Flow `json:"flow,omitempty"`
}

// Fault is what is wrong, and since when. The zero value: nothing.
type Fault struct {
	Text  string    `json:"text,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Wrong reports whether something is.
func (f Fault) Wrong() bool { return f != Fault{} }

// Source is how reading does.
type Source struct {
	Name     string `json:"name"` // of the plugin
	Open     bool   `json:"open"`
	Restarts int64  `json:"restarts"`
	// Failed is why it is not open. Unreachable: its servers do not answer, or
	// cannot give what is to be read now. Absent: a topic is not there.
	Failed      Fault `json:"failed,omitzero"`
	Unreachable Fault `json:"unreachable,omitzero"`
	Absent      Fault `json:"absent,omitzero"`
}

// Sink is how the gating sink does.
type Sink struct {
	Name     string `json:"name"`
	Open     bool   `json:"open"`
	Restarts int64  `json:"restarts"`
	Failed   Fault  `json:"failed,omitzero"`
	// WritesFail is why the newest write did not work, and since when none has,
	// in this session and those before.
	WritesFail Fault `json:"writes_fail,omitzero"`
	// Latency is in seconds from a batch's sending to its last answer.
	Latency      Histogram `json:"latency"`
	BatchBytes   Histogram `json:"batch_bytes"`
	BatchRecords Histogram `json:"batch_records"`
}

// Histogram counts by bounds, as Prometheus does: Counts[i] are the values up
// to Bounds[i] and above the bound before; one more counts what is above all.
type Histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []uint64  `json:"counts"`
	Sum    float64   `json:"sum"`
}

// Gate is what was received and is not committed.
type Gate struct {
	InFlightBytes   int64 `json:"in_flight_bytes"`
	InFlightBatches int64 `json:"in_flight_batches"`
	// Oldest is when the oldest batch came that is not durable in full. Durable
	// is since when something durable has not been committed. Zero: there is
	// none.
	Oldest  time.Time `json:"oldest,omitzero"`
	Durable time.Time `json:"durable_uncommitted_since,omitzero"`
	// CommitFailed is why the newest commit did not work.
	CommitFailed   Fault `json:"commit_failed,omitzero"`
	Commits        int64 `json:"commits"`
	CommitFailures int64 `json:"commit_failures"`
}

// Stream is where one stream stands. Positions are -1 where they are not
// known.
type Stream struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Incarnation string `json:"incarnation,omitempty"`
	Committed   int64  `json:"committed"`
	Frontier    int64  `json:"frontier"`
	Tail        int64  `json:"tail"`
	End         int64  `json:"end"`
	// Lag is in positions, LagSeconds how long the oldest record that is not
	// committed has been there; both -1 where they are not known.
	Lag        int64   `json:"lag"`
	LagSeconds float64 `json:"lag_seconds"`
	// Holes are gaps below the highest position that the gating sink holds.
	Holes int64 `json:"holes"`
}

// Lane is where a secondary stands. Counts are of this process.
type Lane struct {
	Name string `json:"name"`
	// Live and Recovers are which halves of the work this host does.
	Live     bool  `json:"live"`
	Recovers bool  `json:"recovers"`
	Open     bool  `json:"open"`
	Failed   Fault `json:"failed,omitzero"` // of the live lane
	// RecoveryFailed is why recovery's newest attempt did not work.
	RecoveryFailed Fault `json:"recovery_failed,omitzero"`

	// Of the live lane; empty where there is none. Latency is in seconds from a
	// batch's sending to its last answer.
	Latency      Histogram `json:"latency"`
	BatchBytes   Histogram `json:"batch_bytes"`
	BatchRecords Histogram `json:"batch_records"`

	BufferedBytes int64 `json:"buffered_bytes"`
	Delivered     int64 `json:"delivered"`
	ShedBatches   int64 `json:"shed_batches"`
	ShedRows      int64 `json:"shed_rows"`
	SetAside      int64 `json:"set_aside"`
	GivenUp       int64 `json:"given_up"`
	Restarts      int64 `json:"restarts"`

	// Looked is when recovery last looked for what the secondary lacks; zero: never
	// yet, and what follows is not known.
	Looked         time.Time `json:"looked,omitzero"`
	BacklogWindows int64     `json:"backlog_windows"`
	// Unclaimed are those of the windows on which no host works. LivePositions are
	// lacking above the live floor: on their way, or of streams that no host has.
	Unclaimed        int64 `json:"unclaimed_windows"`
	LivePositions    int64 `json:"live_positions"`
	BacklogPositions int64 `json:"backlog_positions"`
	Rebuilt          int64 `json:"rebuilt"`
	Unrecoverable    int64 `json:"unrecoverable"`
}

// Plugin is one plugin process.
type Plugin struct {
	Name string `json:"name"`
	// Part is what it does: "source", "sink NAME" or "recovery NAME".
	Part     string `json:"part"`
	PID      int    `json:"pid"` // 0: none runs
	Stopped  bool   `json:"stopped,omitempty"`
	Restarts int64  `json:"restarts"`
	// Last is why the last process ended.
	Last string `json:"last,omitempty"`
}

// Flow is what flow control says.
type Flow struct {
	// Budget in bytes: what may be held, what is held or given out to the source,
	// and what is held. Saturation is Used as a part of LimitBytes, from 0 to 1.
	BudgetBytes int64   `json:"budget_bytes"`
	Granted     int64   `json:"granted_bytes"`
	Used        int64   `json:"used_bytes"`
	Saturation  float64 `json:"saturation"`
	// LimitBytes is what of the budget is in force: less while warming up and under
	// pressure. Expansion is what a byte of credit is expected to take of it.
	LimitBytes int64   `json:"limit_bytes"`
	Expansion  float64 `json:"expansion"`
	// ResidentBytes is the memory of the host and all its plugins, MemoryLimit what
	// they may have; 0: not known.
	ResidentBytes int64 `json:"resident_bytes"`
	MemoryLimit   int64 `json:"memory_limit_bytes"`
	// MemoryIgnored: memory is high and counts for nothing, because hardly anything
	// is held. Fill is the part of the budget that waits for the sink to take it.
	MemoryIgnored bool    `json:"memory_ignored"`
	Fill          float64 `json:"channel_fill"`
	// Paused: the source reads nothing. StateChanges counts changes of
	// Backpressure, WriteFailures the gating sink's in a row.
	Paused        bool  `json:"paused"`
	StateChanges  int64 `json:"state_changes"`
	WriteFailures int   `json:"write_failures"`
	// WarmUp: not all of the budget is given out yet.
	WarmUp bool `json:"warm_up"`
	// Backpressure is one of BackpressureStates, Stuck one of StuckLevels; empty:
	// not known, and neither are WarmUp and SinkBottleneck.
	Backpressure string `json:"backpressure,omitempty"`
	Stuck        string `json:"stuck,omitempty"`
	// StuckSince is when Stuck was last none.
	StuckSince time.Time `json:"stuck_since,omitzero"`
	// SinkBottleneck: the budget stays full while memory is low.
	SinkBottleneck bool `json:"sink_bottleneck"`
}

// BackpressureStates and StuckLevels are all that there are, in their order.
var (
	BackpressureStates = []string{"normal", "degraded", "critical", "recovery"}
	StuckLevels        = []string{"none", "warn", "unhealthy", "exit"}
)

// Known reports whether what the secondary lacks is known: a host that recovers
// has looked.
func (l *Lane) Known() bool { return l.Recovers && !l.Looked.IsZero() }

// Machine reports whether the pipeline has a backpressure machine.
func (f *Flow) Machine() bool { return f.Backpressure != "" }

// IsStuck reports whether the level means that the host should be started anew.
func (f *Flow) IsStuck() bool { return f != nil && isBad(f.Stuck) }

// Hangs reports the same of the pipeline's loop.
func (p *Pipeline) Hangs() bool { return isBad(p.Hang) }

func isBad(level string) bool { return level == "unhealthy" || level == "exit" }

// Uncommitted is since when the oldest record waits that was received and is
// not committed; zero: none does.
func (g *Gate) Uncommitted() time.Time {
	switch {
	case g.Durable.IsZero() || !g.Oldest.IsZero() && g.Oldest.Before(g.Durable):
		return g.Oldest
	default:
		return g.Durable
	}
}
