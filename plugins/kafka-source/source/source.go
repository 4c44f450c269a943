// Package source reads Kafka topics as a member of a consumer group, or the
// partitions that the settings name.
//
// The group's protocol, the connections and the commits are franz-go's. The
// records are fetched here, with requests of our own, because a twg source
// owes its host four things that a ready-made consumer hides: it fetches only
// with credit, it begins exactly where the host says and never moves by
// itself, its spans cover every position (also those that hold no record),
// and a topic that was created anew is another stream.
package source

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/twg-io/twg/sdk"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Source is the plugin. It is configured once.
type Source struct {
	log *slog.Logger
	set atomic.Pointer[Settings]
}

// New returns a source that logs to log; nil: to what is the default logger
// when it is opened.
func New(log *slog.Logger) *Source { return &Source{log: log} }

// Describe implements sdk.Plugin.
func (s *Source) Describe() sdk.Description {
	return sdk.Description{
		Name:    "kafka-source",
		Version: Version,
		Kind:    sdk.KindSource,
		Doc:     "reads topics of a Kafka-protocol broker, as a member of a consumer group or the partitions that are named",
		Schema:  sdk.SchemaOf(Settings{}),
	}
}

// Configure implements sdk.Plugin.
func (s *Source) Configure(settings sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	var set Settings
	diags := settings.Decode(&set)
	if !diags.HasErrors() {
		diags = append(diags, set.check()...)
	}
	if diags.HasErrors() {
		return sdk.Capabilities{}, diags
	}
	s.set.Store(&set)
	caps := sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable, Topics: set.Topics, Renames: true, Memory: set.memory()}
	if set.storeManaged() {
		caps.Position = sdk.PositionStore
	} else {
		caps.Shares = set.shares()
	}
	return caps, diags
}

// Open implements sdk.Source. It returns before a broker was reached: whether
// one answers is told by events.
func (s *Source) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	set := s.set.Load()
	if set == nil {
		return nil, sdk.Errorf(sdk.KindFatal, "open source", "it was not configured")
	}
	log := s.log
	if log == nil {
		log = slog.Default()
	}
	return open(set, log, ev)
}
