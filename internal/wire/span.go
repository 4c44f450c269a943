package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toSpan(s sdk.Span) *twgpb.Span {
	return &twgpb.Span{Stream: toStream(s.Stream), From: s.From, Next: s.Next, Run: s.Run, Epoch: toEpoch(s.Epoch),
		CompressedBytes: s.CompressedBytes, ExpandedBytes: s.ExpandedBytes}
}

func fromSpan(s *twgpb.Span) (sdk.Span, error) {
	stream, err := fromStream(s.GetStream())
	if err != nil {
		return sdk.Span{}, err
	}
	epoch, err := fromEpoch(s.Epoch)
	if err != nil {
		return sdk.Span{}, err
	}
	out := sdk.Span{Stream: stream, From: s.From, Next: s.Next, Run: s.Run, Epoch: epoch,
		CompressedBytes: s.CompressedBytes, ExpandedBytes: s.ExpandedBytes}
	if err := out.Validate(); err != nil {
		return sdk.Span{}, violation("%v", err)
	}
	return out, nil
}
