package sink

import (
	"path/filepath"
	"time"

	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
)

// Settings are the sink's config block.
type Settings struct {
	Dir          string        `twg:"dir,required" doc:"directory that holds the files; a relative path starts where twg was started" validate:"min=1"`
	Create       bool          `twg:"create" default:"true" doc:"make the directory if it is missing"`
	MaxFileBytes sdk.ByteSize  `twg:"max_file_bytes" default:"128MiB" doc:"a file is sealed at this size of its rows, before compression" validate:"min=1KiB"`
	MaxFileRows  int           `twg:"max_file_rows" default:"500000" doc:"a file is sealed at this number of rows" validate:"min=1"`
	MaxFileAge   time.Duration `twg:"max_file_age" default:"30s" doc:"a file is sealed this long after its first batch" validate:"min=10ms"`
	Compression  string        `twg:"compression" default:"zstd" doc:"zstd, snappy or none" validate:"oneof=zstd|snappy|none"`
	Level        int           `twg:"compression_level" default:"1" doc:"level of zstd, from 1 (fastest) to 4 (smallest); the others have none" validate:"min=1,max=4"`
	RowGroupRows int           `twg:"row_group_rows" default:"100000" doc:"a row group ends at this number of rows, or at 64 MiB of rows" validate:"min=1"`
}

// capabilities are what the sink can do with any valid settings.
func (s Settings) capabilities() sdk.Capabilities {
	return sdk.Capabilities{
		Durable:         true,
		Replayable:      true,
		OffsetStore:     true,
		Fencing:         true,
		Idempotent:      true,
		Shapes:          []sdk.Shape{sdk.ShapeRaw},
		HoldsUntilClose: true,
		Targets:         []string{"directory " + s.Dir},

		CanonicalTargets: []string{"directory " + canonical(s.Dir)},
		Memory:           s.memory(),
	}
}

func (s Settings) rawOptions() (rawfile.Options, error) {
	codec, err := rawfile.Codec(s.Compression, s.Level)
	return rawfile.Options{Codec: codec, RowGroupRows: s.RowGroupRows}, err
}

// Configure implements sdk.Plugin.
func (s *Sink) Configure(in sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	var set Settings
	diags := in.Decode(&set)
	if diags.HasErrors() {
		return sdk.Capabilities{}, diags
	}
	set.Dir = filepath.Clean(set.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set, s.lanes = &set, s.newLanes(set.Dir)
	return set.capabilities(), diags
}
