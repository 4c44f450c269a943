package lanes

import (
	"encoding/hex"
	"fmt"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// entry checks what encode can have written, and nothing else.
func (j *entryJSON) entry() (*entry, error) {
	e := &entry{checkpoint: j.Kind == kindCheckpoint, nextID: j.NextID, gone: j.Gone}
	if !e.checkpoint && j.Kind != kindChange {
		return nil, fmt.Errorf("kind %q is not known", j.Kind)
	}
	id, err := hex.DecodeString(j.ID)
	if err != nil || len(id) != len(e.id) {
		return nil, fmt.Errorf("id %q is not 32 hex digits", j.ID)
	}
	e.id = [16]byte(id)
	for i := range j.Lanes {
		p, err := j.part(&j.Lanes[i])
		if err != nil {
			return nil, fmt.Errorf("entry %d of lanes: %w", i, err)
		}
		e.parts = append(e.parts, p)
	}
	for i := range j.Windows {
		w, err := j.window(&j.Windows[i])
		if err != nil {
			return nil, fmt.Errorf("entry %d of windows: %w", i, err)
		}
		e.windows = append(e.windows, w)
	}
	return e, nil
}

func (j *entryJSON) stream(k int) (sdk.Stream, error) {
	if k < 0 || k >= len(j.Streams) {
		return sdk.Stream{}, fmt.Errorf("stream %d of %d", k, len(j.Streams))
	}
	s := j.Streams[k]
	return sdk.Stream{Cluster: s.Cluster, Topic: s.Topic, Incarnation: s.Incarnation, Partition: s.Partition}, nil
}

func interval(from, next int64) (coverage.Interval, error) {
	if from < 0 || next <= from || next > sdk.MaxPosition {
		return coverage.Interval{}, fmt.Errorf("[%d,%d) is not a range", from, next)
	}
	return coverage.Interval{From: from, Next: next}, nil
}

func intervals(ps [][2]int64) (out []coverage.Interval, err error) {
	for _, p := range ps {
		i, err := interval(p[0], p[1])
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

func (j *entryJSON) part(p *partJSON) (out partEntry, err error) {
	out.lane, out.floor = p.Lane, p.Floor
	if err := checkLane(p.Lane); err != nil {
		return out, err
	}
	if p.Floor < 0 || p.Floor > sdk.MaxPosition {
		return out, fmt.Errorf("live floor %d", p.Floor)
	}
	if out.stream, err = j.stream(p.Stream); err != nil {
		return out, err
	}
	if out.held, err = intervals(p.Held); err != nil {
		return out, err
	}
	if out.aside, err = intervals(p.Aside); err != nil {
		return out, err
	}
	for _, v := range p.Void {
		i, err := interval(v.From, v.Next)
		if err != nil {
			return out, err
		}
		out.void = append(out.void, coverage.Void{Interval: i, Reason: coverage.Reason(v.Reason)})
	}
	return out, nil
}

func (j *entryJSON) window(w *windowJSON) (out sdk.RecoveryWindow, err error) {
	out = sdk.RecoveryWindow{ID: w.ID, Lane: w.Lane, RetrySetAside: w.Retry, Holder: w.Holder,
		Fence: w.Fence, LeaseVersion: w.Version, Lease: sdk.NoClock}
	if err := checkLane(w.Lane); err != nil {
		return out, err
	}
	if out.Stream, err = j.stream(w.Stream); err != nil {
		return out, err
	}
	if _, err := interval(w.From, w.Next); err != nil {
		return out, err
	}
	if w.ID == 0 || w.ID >= j.NextID {
		return out, fmt.Errorf("id %d, and the next to be given is %d", w.ID, j.NextID)
	}
	out.From, out.Next = w.From, w.Next
	for _, s := range []sdk.WindowState{sdk.WindowOpen, sdk.WindowClaimed, sdk.WindowUnrecoverable} {
		if out.State = s; s.String() == w.State {
			return out, nil
		}
	}
	return out, fmt.Errorf("state %q is not known", w.State)
}
