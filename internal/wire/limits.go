package wire

import (
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toLimits(l sdk.Limits) *twgpb.Limits {
	return &twgpb.Limits{FrameRecords: int64(l.FrameRecords), FrameBytes: int64(l.FrameBytes), MaxRecordBytes: int64(l.MaxRecordBytes),
		ConnectMs: l.ConnectWithin.Milliseconds()}
}

// fromLimits puts the default where the other side named no limit.
func fromLimits(l *twgpb.Limits) sdk.Limits {
	return sdk.Limits{
		FrameRecords:   positive(l.GetFrameRecords(), sdk.DefaultLimits.FrameRecords),
		FrameBytes:     positive(l.GetFrameBytes(), sdk.DefaultLimits.FrameBytes),
		MaxRecordBytes: positive(l.GetMaxRecordBytes(), sdk.DefaultLimits.MaxRecordBytes),
		ConnectWithin:  time.Duration(max(l.GetConnectMs(), 0)) * time.Millisecond,
	}
}

func positive(v int64, otherwise int) int {
	if v <= 0 {
		return otherwise
	}
	return int(v)
}
