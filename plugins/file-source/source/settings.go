package source

import (
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// Settings are the plugin's settings in a pipeline file.
type Settings struct {
	Cluster string `twg:"cluster,required" validate:"min=1" doc:"a name for where the files are, like the machine's; it is part of every stream and record id, so it must never change"`
	Path    string `twg:"path,required" validate:"min=1" doc:"the directory that holds the files, or one file"`
	Pattern string `twg:"pattern" default:"*" validate:"min=1" doc:"which files below the directory, like *.log or 2026/**/*.csv.gz; * and ? stop at a slash, ** does not"`
	Topic   string `twg:"topic" doc:"one topic for all files, in place of each one's path: then a file that is renamed stays the stream that it is"`

	Format string `twg:"format" default:"text" validate:"oneof=text|ndjson|csv" doc:"text: each line is a record; ndjson: each line that is not blank; csv: records of CSV, which may have line ends in quotes"`

	Follow       bool          `twg:"follow" default:"true" doc:"go on with lines and files that are added; false: read what is there at the start, once"`
	PollInterval time.Duration `twg:"poll_interval" default:"1s" validate:"min=10ms,max=1h" doc:"how often to look for what is new; rarer where looking takes more than a tenth of it"`
	MaxFiles     int           `twg:"max_files" default:"100000" validate:"min=1,max=10000000" doc:"most files that may match; more stop the pipeline"`
	Readers      int           `twg:"readers" default:"2" validate:"min=1,max=64" doc:"how many files are read, and open, at a time"`
}

// check finds what the schema cannot say.
func (s *Settings) check() sdk.Diagnostics {
	var d sdk.Diagnostics
	if why := badPattern(s.Pattern); why != "" {
		d.Errorf("pattern", "Not a pattern", why)
	}
	if strings.ContainsRune(s.Path, 0) {
		d.Errorf("path", "Not a path", "It holds a byte 0.")
	}
	return d
}
