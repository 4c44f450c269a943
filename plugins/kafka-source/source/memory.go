package source

import "github.com/twg-io/twg/sdk"

const (
	// prefetchRequests: so many full requests may have been asked for and not
	// sent on, from all brokers together.
	prefetchRequests = 8
	// clientBytes are the client's: metadata, buffers of connections, and what
	// a decompressor keeps beside its output.
	clientBytes = 8 << 20
	// largeFrames are those of one record that is larger than a frame: as it
	// came, in its response and in a batch that was expanded, in the builder,
	// which grows by copying, and as it is sent.
	largeFrames = 5
)

// prefetch is what may have been asked for and not sent on, in bytes as brokers
// send them.
func (s *Settings) prefetch() int64 { return prefetchRequests * int64(s.FetchMaxBytes) }

// memory is what is prefetched, what a batch expands to, and frames: one that
// is built, which grows by copying, one that is sent, and those that are kept
// for the next ones. In the extreme a batch expands to max_batch_bytes, in a
// buffer that may have to grow by copying.
func (s *Settings) memory() sdk.Memory {
	frame := int64(sdk.DefaultLimits.FrameBytes)
	frames := (maxFree + 3) * frame * 5 / 4
	expanded := min(4*int64(s.PartitionMaxBytes), int64(s.MaxBatchBytes))
	return sdk.Memory{
		Usual:   sdk.Garbage * (s.prefetch() + frames + expanded + clientBytes),
		Extreme: sdk.Garbage * (int64(s.MaxBatchBytes) - expanded),
		Frames:  sdk.Garbage * largeFrames,
	}
}
