package sink

import "github.com/twg-io/twg/sdk"

const (
	// connectionBytes are a connection's: its buffers, the rows of a COPY that
	// are being encoded, what is known of its streams.
	connectionBytes = 1 << 20
	// largeFrames are those of one record that is larger than a frame: as it
	// arrives, as it waits, and as a row that is encoded, in a buffer that grows
	// by copying; for each connection one more that waits and one that is
	// written.
	largeFrames           = 4
	largeFramesConnection = 2
	// replayBytes are a Replay's: the server's messages, a frame that is built
	// (which grows by copying), the one that is sent.
	replayBytes = 5 << 20
)

// memory is what waits for Write, and for each connection what waits for it and
// what it writes. Buffers that frames arrive in are up to a quarter larger than
// they are.
func (s Settings) memory() sdk.Memory {
	connections := int64(s.Connections)
	frames := sdk.SinkCredit + int64(sdk.DefaultLimits.FrameBytes) + 2*connections*int64(s.MaxTxBytes)
	return sdk.Memory{
		Usual:  sdk.Garbage * (frames*5/4 + connections*connectionBytes),
		Frames: sdk.Garbage * (largeFrames + largeFramesConnection*s.Connections),
		Replay: sdk.Garbage * replayBytes,
	}
}
