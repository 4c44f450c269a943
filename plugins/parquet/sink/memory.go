package sink

import (
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
)

const (
	// files hold row groups at a time: see writer.
	files = 2
	// largeFrames are those of one record that is larger than a frame: as it
	// arrives, as it waits, and for each file in its column's page, which grows
	// by copying, and compressed.
	largeFrames = 2 + 3*files
	// replayBytes are a Replay's: a page of each column and what expands it, and
	// frames; rowBytes are for each row of a file that is read (rawfile.Rows).
	replayBytes = 24 << 20
	rowBytes    = 32
	// logBytes is what is known of the directory: coverage, and which commit
	// holds what.
	logBytes = 4 << 20
)

// memory is what waits for Write, and for each of two files a row group's pages
// and the buffers of its columns. As a rule pages take half of what their rows
// take; in the extreme nothing is gained by compressing them.
func (s Settings) memory() sdk.Memory {
	waiting := (sdk.SinkCredit + int64(sdk.DefaultLimits.FrameBytes)) * 5 / 4
	group := min(rawfile.RowGroupBytes, int64(s.MaxFileBytes))
	usual := group / 2
	if s.Compression == "none" {
		usual = group
	}
	return sdk.Memory{
		Usual:   sdk.Garbage * (waiting + files*(usual+rawfile.WriterBytes) + logBytes),
		Extreme: sdk.Garbage * files * (group - usual),
		Frames:  sdk.Garbage * largeFrames,
		Replay:  sdk.Garbage * (replayBytes + int64(s.MaxFileRows)*rowBytes),
	}
}
