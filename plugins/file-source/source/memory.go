package source

import "github.com/twg-io/twg/sdk"

const (
	// usualWindow is what a file that zstd has compressed at its default level
	// takes while it is expanded: a window of 2 MiB, and blocks.
	usualWindow = 3 << 20
	// largestWindow is that of zstd --long (content's maxWindow), and a block.
	largestWindow = 129 << 20
	// streamBytes are what is known of a stream that the host carries, fileBytes
	// of any file that matches.
	streamBytes = 2 << 10
	fileBytes   = 1 << 10
	// usualStreams are those that count as usual where there may be more.
	usualStreams = 256
	// largeFrames are those of one record that is larger than a frame, for each
	// reader: in the window, which grows by copying to twice its size, in the
	// builder, which does so too, and as it is sent.
	largeFrames = 5
)

// memory is, for each reader, a window, what expands a file, and a frame that
// is built (which grows by copying) and one that is sent; those that are kept
// for the next ones; and what is known of streams. In the extreme each reader
// has a compressed file of the largest window, and as many files match, and
// are carried as streams, as may.
func (s *Settings) memory() sdk.Memory {
	frame := int64(sdk.DefaultLimits.FrameBytes) * 5 / 4
	readers := int64(s.Readers)
	streams := int64(min(usualStreams, s.MaxFiles)) * streamBytes
	return sdk.Memory{
		Usual:   sdk.Garbage * (readers*(keepBytes+usualWindow+3*frame) + maxFree*frame + streams),
		Extreme: sdk.Garbage * (readers*(largestWindow-usualWindow) + int64(s.MaxFiles)*fileBytes + maxHeld*streamBytes),
		Frames:  sdk.Garbage * largeFrames * s.Readers,
	}
}
