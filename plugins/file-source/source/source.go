// Package source reads the records of files. Each file is a stream; where it
// goes on is for the host to say, from what the sink holds.
//
// Who is who: the scanner looks for files and tells the table what it sees. The
// table knows what each file's stream is up to; it does no I/O. The announcer
// tells the host about streams, and takes back those that are done where there
// are more than a host should carry. Readers take turns from the table: a turn
// is one file, from where its run is to the end that it had at the turn's start.
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
	// mostHeld is maxHeld, but for tests.
	mostHeld int
}

// New returns a source that logs to log; nil: to what is the default logger
// when it is opened.
func New(log *slog.Logger) *Source { return &Source{log: log, mostHeld: maxHeld} }

// Describe implements sdk.Plugin.
func (s *Source) Describe() sdk.Description {
	return sdk.Description{
		Name:    "file-source",
		Version: Version,
		Kind:    sdk.KindSource,
		Doc:     "reads the records of files: lines of text or JSON, and CSV, also compressed; follows files that grow",
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
	return sdk.Capabilities{Position: sdk.PositionStore, Origin: sdk.OriginReplayable, Memory: set.memory()}, diags
}

// Open implements sdk.Source. It returns before any file was looked at: what
// is found is told by events.
func (s *Source) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	set := s.set.Load()
	if set == nil {
		return nil, sdk.Errorf(sdk.KindFatal, "open source", "it was not configured")
	}
	log := s.log
	if log == nil {
		log = slog.Default()
	}
	return open(set, log, ev, s.mostHeld), nil
}
