package pipeline

import (
	"time"

	"github.com/twg-io/twg/sdk"
)

// Role is which half of the work a pipeline does in this host (V1).
type Role uint8

const (
	// RoleBoth reads the source and rebuilds what secondaries miss. The
	// default.
	RoleBoth Role = iota
	// RoleIngest leaves recovery to other hosts.
	RoleIngest
	// RoleRecovery only rebuilds, and never touches the source.
	RoleRecovery
)

// Secondary is a sink that does not gate: it is sent what the primary-raw sink
// holds, is never waited for, and what it misses is rebuilt from raw.
type Secondary struct {
	// Name is the lane's name in the offset store.
	Name string
	// Sink takes the live lane; Recovery is the same plugin with the same
	// settings in a process of its own, for what is rebuilt. Recovery is not
	// used by an ingest host, Sink not by a recovery host: they may be nil.
	Sink, Recovery sdk.Sink
	Caps           sdk.Capabilities
	// Buffer bounds the bytes of frames that the lane holds; zero is
	// DefaultLaneBuffer. A full one sheds.
	Buffer int64
	// Attempts is how often a batch that the sink refused is sent before the
	// lane gives it up, for recovery to send again; zero is
	// DefaultLaneAttempts.
	Attempts int
}

// Recovery says how much of raw is rebuilt at a time. Zero values are the
// defaults below.
type Recovery struct {
	// WindowRows bounds a window's positions, WindowDuration the time for
	// which one is worked on without a break.
	WindowRows     int64
	WindowDuration time.Duration
	// LeaseTTL is how long a window stays claimed by a host that has died.
	LeaseTTL time.Duration
	// Budget bounds the bytes that are read from raw and not answered.
	Budget int64
	// Interval is how often holes are looked for.
	Interval time.Duration
}

// Defaults, where Secondary and Recovery have the zero value.
const (
	DefaultLaneBuffer     = 32 << 20
	DefaultLaneAttempts   = 5
	DefaultWindowRows     = 100_000
	DefaultWindowDuration = 5 * time.Minute
	DefaultLeaseTTL       = 30 * time.Second
	DefaultRecoveryBudget = 16 << 20
	DefaultInterval       = 5 * time.Second
)
