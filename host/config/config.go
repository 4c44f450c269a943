package config

import (
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/twg-io/twg/sdk"
)

// Config is one pipeline file.
type Config struct {
	// Filename is the name that Load was given.
	Filename string
	// PluginDir is the directory of plugin programs; empty: not said.
	PluginDir string
	// MemoryLimit is what host and plugins may have together, in bytes; 0: not
	// said.
	MemoryLimit int64
	// Admin is where the host answers for its health; nil: nowhere.
	Admin     *Admin
	Pipelines []*Pipeline
	// Secrets hides the values of env() and file() in text for people.
	Secrets *Secrets

	top place
}

// Role is which half of the work a host does for a pipeline.
type Role string

const (
	RoleIngest   Role = "ingest"
	RoleRecovery Role = "recovery"
	RoleBoth     Role = "both"
)

// OnGap is what happens when records were removed before they were read.
type OnGap string

const (
	// OnGapFail halts the pipeline, with the positions that are gone.
	OnGapFail OnGap = "fail"
	// OnGapContinue raises the alarm and goes on behind the gap.
	OnGapContinue OnGap = "continue"
)

// OnDivergence is what happens when a log was cut and filled anew: from the cut
// on it holds other records than those that were read.
type OnDivergence string

const (
	// OnDivergenceFail halts the pipeline, with the position of the cut.
	OnDivergenceFail OnDivergence = "fail"
	// OnDivergenceNewIncarnation raises the alarm and reads on from the cut, as
	// another stream.
	OnDivergenceNewIncarnation OnDivergence = "new_incarnation"
)

// Pipeline is one pipeline block.
type Pipeline struct {
	Name        string
	Role        Role
	Granularity sdk.Granularity
	// Topics holds the granularity of single topics.
	Topics map[string]sdk.Granularity
	// MemoryBudget bounds, in frame bytes, what may be in flight.
	MemoryBudget int64
	// MaxRecordBytes bounds key + value + headers of one record.
	MaxRecordBytes int64
	// MaxAckDelay is how long a record may wait for its receipt before the
	// host sends Flush.
	MaxAckDelay time.Duration
	// ShutdownTimeout bounds a graceful stop.
	ShutdownTimeout time.Duration
	OnGap           OnGap
	OnDivergence    OnDivergence
	// AcceptLoss names source plugins whose records may be lost for good.
	AcceptLoss []string
	// Recovery is how secondary sinks are rebuilt.
	Recovery Recovery
	// Flow is how the memory budget is used.
	Flow Flow
	// Source is nil only if the file has errors, or with RoleRecovery.
	Source *Source
	Sinks  []*Sink

	place
	topicPlaces map[string]place // of the blocks in Topics
}

// Recovery is a pipeline's recovery block, or its defaults.
type Recovery struct {
	// WindowRows bounds the positions of a window, WindowDuration the time for
	// which one is worked on without a break.
	WindowRows     int64
	WindowDuration time.Duration
	// LeaseTTL is how long a window stays claimed by a host that has died.
	LeaseTTL time.Duration
	// Budget bounds, in frame bytes, what is read from raw and not answered.
	Budget int64
	// Interval is how often holes are looked for.
	Interval time.Duration

	place
}

// Flow is a pipeline's flow block, or its defaults. Percentages are here between
// 0 and 1.
type Flow struct {
	// RecordSize is what a record takes at least, in bytes; 0: not said.
	RecordSize int64
	// WarmUp of the budget is in force until WarmUpAcks receipts have come, or
	// WarmUpTimeout has passed.
	WarmUp        float64
	WarmUpAcks    int
	WarmUpTimeout time.Duration
	// Where the backpressure machine leaves Normal, and where it is Critical.
	MemoryDegraded, MemoryCritical   float64
	ChannelDegraded, ChannelCritical float64
	// RecoverAfter is how long all must be well before it recovers, RecoverFor
	// how long that takes.
	RecoverAfter, RecoverFor time.Duration
	// After how long a standstill is warned of, makes the host unhealthy and ends
	// it, and how long progress must last to clear the suspicion.
	StuckWarn, StuckUnhealthy, StuckExit, StuckClear time.Duration
	// The same of the host's own loop, when that gives no sign of life.
	HangWarn, HangUnhealthy, HangExit time.Duration

	place
}

// Source is a pipeline's source block.
type Source struct {
	Plugin   string
	Settings *Settings

	place
}

// SinkRole is a sink's part in the guarantee.
type SinkRole string

const (
	// SinkOnly is the one sink of a single-sink pipeline: it gates.
	SinkOnly SinkRole = ""
	// SinkPrimaryRaw gates and keeps what the others are rebuilt from.
	SinkPrimaryRaw SinkRole = "primary-raw"
	// SinkSecondary never gates.
	SinkSecondary SinkRole = "secondary"
)

// Sink is a sink block.
type Sink struct {
	Plugin string
	Name   string
	Role   SinkRole
	// Durable is what the file says; nil: nothing.
	Durable *bool
	// Buffer and Attempts are a secondary's: the bytes of frames that may wait
	// for it, and how often a batch that it refuses is sent.
	Buffer   int64
	Attempts int
	Settings *Settings

	place
}

// Gates reports whether the source's position waits for this sink.
func (s *Sink) Gates() bool { return s.Role != SinkSecondary }

// Gate returns the sink that gates, or nil where the file has errors.
func (p *Pipeline) Gate() *Sink {
	for _, s := range p.Sinks {
		if s.Gates() {
			return s
		}
	}
	return nil
}

// Secondaries returns the sinks that do not gate.
func (p *Pipeline) Secondaries() []*Sink {
	var out []*Sink
	for _, s := range p.Sinks {
		if !s.Gates() {
			out = append(out, s)
		}
	}
	return out
}

// place is where a block and its attributes stand.
type place struct {
	doc   *document
	def   hcl.Range
	attrs map[string]hcl.Range
}

// at is the range of the attribute, or of the block's head without it.
func (p place) at(attr string) hcl.Range {
	if r, ok := p.attrs[attr]; ok {
		return r
	}
	return p.def
}

// Problem makes an error about the block's head.
func (p place) Problem(summary, detail string) Diagnostic {
	return p.doc.errorAt(p.def, summary, detail)
}
