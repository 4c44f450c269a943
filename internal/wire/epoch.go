package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// toEpoch leaves the zero epoch out.
func toEpoch(e sdk.Epoch) *twgpb.Epoch {
	if e.IsZero() {
		return nil
	}
	return &twgpb.Epoch{Number: e.Number, Token: e.Token[:]}
}

func fromEpoch(e *twgpb.Epoch) (sdk.Epoch, error) {
	if e == nil {
		return sdk.Epoch{}, nil
	}
	if len(e.Token) != 16 {
		return sdk.Epoch{}, violation("the token of epoch %d has %d bytes, 16 are needed", e.Number, len(e.Token))
	}
	return sdk.Epoch{Number: e.Number, Token: [16]byte(e.Token)}, nil
}
