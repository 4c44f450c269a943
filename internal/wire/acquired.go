package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toAcquired(a sdk.Acquired) *twgpb.AcquiredEpoch {
	return &twgpb.AcquiredEpoch{Stream: toStream(a.Stream), Epoch: toEpoch(a.Epoch), PreviousOwner: text(a.Previous)}
}

func fromAcquired(a *twgpb.AcquiredEpoch) (out sdk.Acquired, err error) {
	if out.Stream, err = fromStream(a.GetStream()); err != nil {
		return out, err
	}
	out.Epoch, err = fromEpoch(a.Epoch)
	out.Previous = a.PreviousOwner
	return out, err
}
