package recovery

import (
	"reflect"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func setOf(held ...coverage.Interval) *coverage.Set {
	s := &coverage.Set{}
	for _, i := range held {
		s.AddHeld(i)
	}
	return s
}

func TestBacklog(t *testing.T) {
	pruned := setOf(coverage.Interval{From: 10, Next: 100})
	pruned.AddVoid(coverage.Void{Interval: coverage.Interval{Next: 10}, Reason: coverage.Pruned})
	window := func(state sdk.WindowState, lease time.Duration) sdk.RecoveryWindow {
		return sdk.RecoveryWindow{State: state, Lease: lease}
	}
	cases := []struct {
		name  string
		known Known
		want  Backlog
	}{
		{"nothing", Known{Raw: setOf(), Lane: setOf()}, Backlog{}},
		{"all is held", Known{Raw: setOf(coverage.Interval{Next: 50}), Lane: setOf(coverage.Interval{Next: 50}), Floors: sdk.Floors{Live: 50}}, Backlog{}},
		{"below and above the live floor", Known{Raw: setOf(coverage.Interval{Next: 100}), Lane: setOf(coverage.Interval{From: 20, Next: 70}), Floors: sdk.Floors{Live: 60}},
			Backlog{Positions: 20, Live: 30}},
		{"what raw holds above its first hole is not behind", Known{Raw: setOf(coverage.Interval{Next: 10}, coverage.Interval{From: 20, Next: 30}), Lane: setOf()}, Backlog{Live: 10}},
		{"set aside is not missing", Known{Raw: setOf(coverage.Interval{Next: 10}), Lane: setOf(coverage.Interval{Next: 4}), SetAside: []coverage.Interval{{From: 4, Next: 6}}, Floors: sdk.Floors{Live: 10}},
			Backlog{Positions: 4}},
		{"pruned before the lane had it", Known{Raw: pruned, Lane: setOf(coverage.Interval{From: 4, Next: 100}), Floors: sdk.Floors{Live: 100, Raw: 10}}, Backlog{Unrecoverable: 4}},
		{"windows", Known{Raw: setOf(), Lane: setOf(), Windows: []sdk.RecoveryWindow{window(sdk.WindowOpen, 0), window(sdk.WindowClaimed, time.Second),
			window(sdk.WindowClaimed, 0), window(sdk.WindowClaimed, sdk.NoClock), window(sdk.WindowUnrecoverable, 0)}}, Backlog{Windows: 4, Unclaimed: 2}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.known.Backlog(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestSum(t *testing.T) {
	sinks := []SinkBacklog{
		{"a", Backlog{Windows: 2, Unclaimed: 1, Positions: 10, Live: 5, Unrecoverable: 1, Rebuilt: 7, SetAside: 1}},
		{"b", Backlog{Windows: 1, Positions: 1, Live: 20, At: time.Now()}},
		{"c", Backlog{Live: 21}},
	}
	got := Sum(sinks)
	want := Total{Backlog: Backlog{Windows: 3, Unclaimed: 1, Positions: 11, Live: 46, Unrecoverable: 1, Rebuilt: 7, SetAside: 1}, Furthest: "b", FurthestLag: 21, Sinks: sinks}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if none := Sum(nil); none.Furthest != "" || none.Lag() != 0 {
		t.Errorf("%+v", none)
	}
}
