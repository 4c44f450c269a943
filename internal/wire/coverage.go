package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func toInterval(i coverage.Interval) *twgpb.Interval {
	return &twgpb.Interval{From: i.From, Next: i.Next}
}

func fromInterval(i *twgpb.Interval) (coverage.Interval, error) {
	out := coverage.Interval{From: i.GetFrom(), Next: i.GetNext()}
	return out, checkInterval(out)
}

func checkInterval(i coverage.Interval) error {
	if i.From < 0 || i.Next < i.From || i.Next > sdk.MaxPosition {
		return violation("[%d,%d) is no range of positions", i.From, i.Next)
	}
	return nil
}

func toVoid(v coverage.Void) *twgpb.VoidInterval {
	return &twgpb.VoidInterval{From: v.From, Next: v.Next, Reason: twgpb.VoidReason(v.Reason)}
}

func fromVoid(v *twgpb.VoidInterval) (coverage.Void, error) {
	out := coverage.Void{Interval: coverage.Interval{From: v.GetFrom(), Next: v.GetNext()}, Reason: coverage.Reason(v.GetReason())}
	return out, checkInterval(out.Interval)
}

func toStreamCoverage(c sdk.StreamCoverage) *twgpb.StreamCoverage {
	out := &twgpb.StreamCoverage{Stream: toStream(c.Stream)}
	if c.Set != nil {
		out.Held, out.Void = each(c.Set.Held(), toInterval), each(c.Set.Voids(), toVoid)
	}
	out.SetAside = each(c.SetAside, toInterval)
	return out
}

func fromStreamCoverage(c *twgpb.StreamCoverage) (sdk.StreamCoverage, error) {
	out := sdk.StreamCoverage{Set: &coverage.Set{}}
	var err error
	if out.Stream, err = fromStream(c.GetStream()); err != nil {
		return out, err
	}
	for _, i := range c.Held {
		held, err := fromInterval(i)
		if err != nil {
			return out, err
		}
		out.Set.AddHeld(held)
	}
	for _, v := range c.Void {
		void, err := fromVoid(v)
		if err != nil {
			return out, err
		}
		out.Set.AddVoid(void)
	}
	out.SetAside, err = eachErr(c.SetAside, fromInterval)
	return out, err
}

func toCoverageRecord(r sdk.CoverageRecord) *twgpb.CoverageRecord {
	return &twgpb.CoverageRecord{
		Stream: toStream(r.Stream), Epoch: toEpoch(r.Epoch), Held: each(r.Held, toInterval), Void: each(r.Void, toVoid),
		SetAside: each(r.SetAside, toInterval), LiveFloor: r.LiveFloor,
	}
}

func fromCoverageRecord(r *twgpb.CoverageRecord) (out sdk.CoverageRecord, err error) {
	if out.Stream, err = fromStream(r.GetStream()); err != nil {
		return out, err
	}
	if out.Epoch, err = fromEpoch(r.Epoch); err != nil {
		return out, err
	}
	if out.Held, err = eachErr(r.Held, fromInterval); err != nil {
		return out, err
	}
	if out.Void, err = eachErr(r.Void, fromVoid); err != nil {
		return out, err
	}
	if out.SetAside, err = eachErr(r.SetAside, fromInterval); err != nil {
		return out, err
	}
	out.LiveFloor = r.LiveFloor
	return out, checkInterval(coverage.Interval{Next: r.LiveFloor})
}
