package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toGranularity(g sdk.Granularity) twgpb.Granularity {
	if g == sdk.GranularityRecord {
		return twgpb.Granularity_GRANULARITY_RECORD
	}
	return twgpb.Granularity_GRANULARITY_BATCH
}

func fromGranularity(g twgpb.Granularity) sdk.Granularity {
	if g == twgpb.Granularity_GRANULARITY_RECORD {
		return sdk.GranularityRecord
	}
	return sdk.GranularityBatch
}
