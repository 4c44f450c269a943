// Package source listens on a socket and makes one stream of what peers send.
//
// A record's position is its number in the stream. Without resume it gets it
// when it arrives, from all peers together, and the host says with which number
// to go on. With resume one peer at a time speaks for the stream: it is told by
// RESUME with which record to go on, and so can send again what was lost on its
// way.
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
		Name:    "socket-source",
		Version: Version,
		Kind:    sdk.KindSource,
		Doc:     "takes records from whoever connects, over TCP or a unix socket; with resume nothing is lost",
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
	caps := sdk.Capabilities{Position: sdk.PositionStore, Origin: sdk.OriginNonReplayable, Memory: set.memory()}
	if set.Resume {
		caps.Origin = sdk.OriginResumable
	}
	return caps, diags
}

// Open implements sdk.Source. It returns before the socket is there: the stream
// is announced when it is.
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
