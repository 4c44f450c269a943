package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toRowRange(r sdk.RowRange) *twgpb.RowRange {
	return &twgpb.RowRange{From: uint32(r.From), To: uint32(r.To)}
}

// fromRowRanges checks that the ranges are ascending, disjoint and within n
// rows.
func fromRowRanges(in []*twgpb.RowRange, n int) ([]sdk.RowRange, error) {
	at := 0
	return eachErr(in, func(r *twgpb.RowRange) (sdk.RowRange, error) {
		out := sdk.RowRange{From: int(r.GetFrom()), To: int(r.GetTo())}
		if out.From < at || out.To < out.From || out.To > n {
			return out, violation("row range [%d,%d) does not fit behind row %d of %d", out.From, out.To, at, n)
		}
		at = out.To
		return out, nil
	})
}
