package source

import (
	"strconv"
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

	Format    string `twg:"format" default:"text" validate:"oneof=text|ndjson|csv" doc:"text: each line is a record; ndjson: each line that is not blank; csv: records of CSV, which may have line ends in quotes"`
	Key       string `twg:"key" doc:"where a record's key stands: in ndjson a field's name or a JSON pointer, in csv a column's name, or its number where there is no header"`
	Delimiter string `twg:"delimiter" default:"," doc:"what stands between the fields of csv: one character of ASCII"`
	Header    bool   `twg:"header" default:"true" doc:"the first record of a csv file names its columns"`
	CSVAs     string `twg:"csv_as" default:"raw" validate:"oneof=raw|json" doc:"raw: a record's value is its line as it stands, with the file's first line in the header columns; json: an object of strings"`

	Follow       bool          `twg:"follow" default:"true" doc:"go on with lines and files that are added; false: read what is there at the start, once"`
	PollInterval time.Duration `twg:"poll_interval" default:"1s" validate:"min=10ms,max=1h" doc:"how often to look for what is new; rarer, down to a twentieth, where looking takes more than a tenth of it"`
	LastLine     string        `twg:"last_line" default:"hold" validate:"oneof=hold|deliver" doc:"a last line without a newline, while following. hold: it waits for its newline; deliver: it is a record once the file has not changed for quiet_after"`
	QuietAfter   time.Duration `twg:"quiet_after" default:"1m" validate:"min=10ms" doc:"how long a file must be unchanged before nobody is taken to write to it any more"`
	OnBadFile    string        `twg:"on_bad_file" default:"fail" validate:"oneof=fail|skip" doc:"a file that is damaged or must not be read. fail: the pipeline stops; skip: it is left, with an error in the log, until it changes"`

	MaxFiles int `twg:"max_files" default:"100000" validate:"min=1,max=10000000" doc:"most files that may match; more stop the pipeline"`
	Readers  int `twg:"readers" default:"2" validate:"min=1,max=64" doc:"how many files are read, and open, at a time"`
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
	if len(s.Delimiter) != 1 || s.Delimiter[0] >= 0x80 || strings.Contains("\"\r\n", s.Delimiter) {
		d.Errorf("delimiter", "Not a delimiter", "It is one character of ASCII, and neither a quote nor a line end.")
	}
	if s.CSVAs == "json" && !s.Header {
		d.Errorf("csv_as", "No names for the columns", `With header = false there are none. Write csv_as = "raw".`)
	}
	return append(d, s.checkKey()...)
}

func (s *Settings) checkKey() sdk.Diagnostics {
	var d sdk.Diagnostics
	number, err := strconv.Atoi(s.Key)
	switch {
	case s.Key == "":
	case s.Format == "text":
		d.Errorf("key", "Text has no key", `Lines of text have no parts. Take key away, or write format = "ndjson" or "csv".`)
	case s.Format == "csv" && !s.Header && (err != nil || number < 1):
		d.Errorf("key", "Not a column's number", "With header = false columns have numbers, from 1.")
	case s.Format == "ndjson" && badPointer(s.Key):
		d.Errorf("key", "Not a JSON pointer", "After ~ stands 0 (for ~) or 1 (for a slash).")
	}
	return d
}
