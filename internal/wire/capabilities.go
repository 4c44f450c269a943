package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

var (
	regimes = map[sdk.PositionRegime]twgpb.PositionRegime{
		"":                 twgpb.PositionRegime_POSITION_REGIME_UNSPECIFIED,
		sdk.PositionBroker: twgpb.PositionRegime_POSITION_REGIME_BROKER,
		sdk.PositionStore:  twgpb.PositionRegime_POSITION_REGIME_STORE,
	}
	origins = map[sdk.Origin]twgpb.Origin{
		"":                      twgpb.Origin_ORIGIN_UNSPECIFIED,
		sdk.OriginReplayable:    twgpb.Origin_ORIGIN_REPLAYABLE,
		sdk.OriginResumable:     twgpb.Origin_ORIGIN_RESUMABLE,
		sdk.OriginNonReplayable: twgpb.Origin_ORIGIN_NON_REPLAYABLE,
	}
)

func toCapabilities(c sdk.Capabilities) *twgpb.Capabilities {
	return &twgpb.Capabilities{
		Position: regimes[c.Position], Origin: origins[c.Origin],
		Durable: c.Durable, DurableFlush: c.DurableFlush, Replayable: c.Replayable, OffsetStore: c.OffsetStore, Fencing: c.Fencing,
		Idempotent: c.Idempotent, AppendOnly: c.AppendOnly,
		Shapes:        each(c.Shapes, func(s sdk.Shape) string { return string(s) }),
		MaxBatchBytes: c.MaxBatchBytes, HoldsUntilClose: c.HoldsUntilClose, Targets: c.Targets, CanonicalTargets: c.CanonicalTargets,
		Topics: each(c.Topics, func(s string) []byte { return []byte(s) }), Shares: c.Shares, Renames: c.Renames,
		Memory: toMemory(c.Memory),
	}
}

// fromCapabilities refuses a regime or an origin that it does not know: what
// a crash costs depends on them.
func fromCapabilities(c *twgpb.Capabilities) (sdk.Capabilities, error) {
	out := sdk.Capabilities{
		Durable: c.GetDurable(), DurableFlush: c.GetDurableFlush(), Replayable: c.GetReplayable(), OffsetStore: c.GetOffsetStore(), Fencing: c.GetFencing(),
		Idempotent: c.GetIdempotent(), AppendOnly: c.GetAppendOnly(),
		Shapes:        each(c.GetShapes(), func(s string) sdk.Shape { return sdk.Shape(s) }),
		MaxBatchBytes: c.GetMaxBatchBytes(), HoldsUntilClose: c.GetHoldsUntilClose(), Targets: c.GetTargets(), CanonicalTargets: c.GetCanonicalTargets(),
		Topics: each(c.GetTopics(), func(b []byte) string { return string(b) }), Shares: c.GetShares(), Renames: c.GetRenames(),
		Memory: fromMemory(c.GetMemory()),
	}
	var ok bool
	if out.Position, ok = keyOf(regimes, c.GetPosition()); !ok {
		return out, violation("position regime %d is not known", c.GetPosition())
	}
	if out.Origin, ok = keyOf(origins, c.GetOrigin()); !ok {
		return out, violation("origin %d is not known", c.GetOrigin())
	}
	return out, nil
}

func keyOf[K, V comparable](m map[K]V, v V) (K, bool) {
	for k, x := range m {
		if x == v {
			return k, true
		}
	}
	var none K
	return none, false
}
