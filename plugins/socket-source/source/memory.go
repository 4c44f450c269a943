package source

import "github.com/twg-io/twg/sdk"

const (
	// usualPeers are those that count as usual where more may connect.
	usualPeers = 8
	// peerBytes are a connection's: its goroutines, TLS, the kernel's share.
	peerBytes = 64 << 10
	// framesOnTheirWay are batches that were sent and that the transport has
	// not written out yet, with their garbage: nothing is kept for the next.
	framesOnTheirWay = 4
)

// memory is, for each connection, what was read and not taken (its buffer
// doubles until the largest record fits), and the frame that it has built; and
// the frames that are being sent. In the extreme as many connect as may, and
// all send the largest record.
func (s *Settings) memory() sdk.Memory {
	frame := int64(sdk.DefaultLimits.FrameBytes) * 5 / 4
	most := int64(s.MaxConnections)
	if s.Resume {
		most = 2 // a new one replaces the one that was there
	}
	largest := int64(s.MaxFrameBytes)
	usual := int64(peerBytes+2*readBytes) + min(2*largest, frame) + frame
	extreme := int64(peerBytes+readBytes) + 3*largest + max(frame, 2*largest)
	peers := min(most, usualPeers)
	sum := sdk.Memory{Usual: sdk.Garbage * (peers*usual + framesOnTheirWay*frame)}
	sum.Extreme = max(0, sdk.Garbage*(most*extreme-peers*usual+framesOnTheirWay*max(0, largest-frame)))
	return sum
}
