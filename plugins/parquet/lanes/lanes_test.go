package lanes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

const lane = "lake"

var (
	streamA = sdk.Stream{Cluster: "c", Topic: "a", Incarnation: "i", Partition: 0}
	streamB = sdk.Stream{Cluster: "c", Topic: "b", Partition: 1}
)

// process is a store as one process has it.
func process(m *disk.Mem) (*Store, *disk.MemDir) {
	dir := m.Dir()
	return New(func() (disk.Dir, error) { return dir.Sub("_twg") }), dir
}

func span(from, next int64) coverage.Interval { return coverage.Interval{From: from, Next: next} }

func window(s sdk.Stream, from, next int64) sdk.RecoveryWindow {
	return sdk.RecoveryWindow{Window: sdk.Window{Stream: s, From: from, Next: next}}
}

func plan(t testing.TB, s *Store, ws ...sdk.RecoveryWindow) []sdk.RecoveryWindow {
	t.Helper()
	out, err := s.PlanWindows(context.Background(), lane, ws)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func claim(t testing.TB, s *Store, c sdk.WindowClaim) *sdk.RecoveryWindow {
	t.Helper()
	c.Lane = lane
	w, err := s.ClaimWindow(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func record(t testing.TB, s *Store, r sdk.CoverageRecord) {
	t.Helper()
	if err := s.Record(context.Background(), lane, []sdk.CoverageRecord{r}); err != nil {
		t.Fatal(err)
	}
}

func lanesOf(t testing.TB, s *Store, stream sdk.Stream) string {
	t.Helper()
	c, err := s.Coverage(context.Background(), lane, []sdk.Stream{stream})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.LiveFloors(context.Background(), lane, []sdk.Stream{stream})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(c[0].Set.Held(), c[0].SetAside, f[0])
}

// Two processes record to one lane in turn; neither loses the other's.
func TestRecordsOfTwoProcessesAreOneUnion(t *testing.T) {
	m := disk.NewMem()
	one, _ := process(m)
	two, _ := process(m)
	for p := int64(0); p < 40; p += 2 {
		record(t, one, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{span(p, p+1)}, LiveFloor: p})
		record(t, two, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{span(p+1, p+2)}, LiveFloor: 40 - p})
	}
	three, _ := process(m)
	for _, s := range []*Store{one, two, three} {
		if got := lanesOf(t, s, streamA); got != "[{0 40}] [] 40" {
			t.Errorf("coverage %s", got)
		}
	}
}

// What other processes have removed meanwhile is no error.
func TestWhoLagsBehindReadsOn(t *testing.T) {
	m := disk.NewMem()
	slow, _ := process(m)
	record(t, slow, sdk.CoverageRecord{Stream: streamB, Held: []coverage.Interval{span(0, 5)}})
	fast, _ := process(m)
	for p := range int64(3*linklog.CheckpointEvery + 10) {
		record(t, fast, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{span(p, p+1)}})
	}
	names, _ := m.Dir().Sub("_twg")
	left, _ := names.List()
	if len(left) > 2*linklog.CheckpointEvery+10 {
		t.Errorf("%d files are left", len(left))
	}
	record(t, slow, sdk.CoverageRecord{Stream: streamB, Held: []coverage.Interval{span(5, 9)}})
	if got := lanesOf(t, slow, streamB); got != "[{0 9}] [] 0" {
		t.Errorf("coverage %s", got)
	}
	if got := lanesOf(t, fast, streamA); got != fmt.Sprintf("[{0 %d}] [] 0", 3*linklog.CheckpointEvery+10) {
		t.Errorf("coverage %s", got)
	}
}

func TestPlanIsOneWrite(t *testing.T) {
	m := disk.NewMem()
	s, _ := process(m)
	plan(t, s, window(streamB, 0, 1))
	syncs := 0
	m.Fail = func(op, _ string) error {
		if op == "sync" || op == "syncdir" {
			syncs++
		}
		return nil
	}
	var ws []sdk.RecoveryWindow
	for p := range int64(10_000) {
		ws = append(ws, window(streamA, 2*p, 2*p+1))
	}
	began := time.Now()
	if got := plan(t, s, ws...); len(got) != len(ws) {
		t.Fatalf("%d windows", len(got))
	}
	t.Logf("10,000 windows in %v", time.Since(began))
	if syncs != 2 {
		t.Errorf("%d fsyncs, want one of the file and one of the directory", syncs)
	}
	again, _ := process(m)
	if got, err := again.Windows(context.Background(), lane); err != nil || len(got) != 10_001 {
		t.Errorf("%d windows, %v", len(got), err)
	}
}

func TestADirectoryHasOneRecoveryHost(t *testing.T) {
	m := disk.NewMem()
	one, dir := process(m)
	two, _ := process(m)
	plan(t, two, window(streamA, 0, 10), window(streamA, 10, 20)) // anybody may
	first := claim(t, one, sdk.WindowClaim{Holder: "host-1"})
	_, err := two.ClaimWindow(context.Background(), sdk.WindowClaim{Lane: lane, Holder: "host-2"})
	if sdk.KindOf(err) != sdk.KindRetryable || !strings.Contains(err.Error(), "host-1") || !strings.Contains(err.Error(), "process ") {
		t.Fatalf("a second recovery host: %v", err)
	}
	dir.Kill()
	if w := claim(t, two, sdk.WindowClaim{Holder: "host-2"}); w == nil || w.ID == first.ID {
		t.Fatalf("claimed %+v", w)
	}
	// The dead one's window: by who has watched its lease.
	if w := claim(t, two, sdk.WindowClaim{Holder: "host-2", ID: first.ID, LeaseVersion: first.LeaseVersion + 1}); w != nil {
		t.Fatalf("claimed %+v by a version that it never had", w)
	}
	w := claim(t, two, sdk.WindowClaim{Holder: "host-2", ID: first.ID, LeaseVersion: first.LeaseVersion})
	if w == nil || w.Fence != first.Fence+1 || w.Lease != sdk.NoClock {
		t.Fatalf("claimed %+v", w)
	}
	if _, err := two.RenewWindow(context.Background(), first.ID, first.Fence); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("renewal by the dead: %v", err)
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	three, _ := process(m)
	claim(t, three, sdk.WindowClaim{Holder: "host-3"})
}

func TestCompletion(t *testing.T) {
	whole := span(0, 100)
	for name, c := range map[string]struct {
		cover, done, lost []coverage.Interval
		raw               coverage.Interval
		want              string // "": refused
	}{
		"all of it":            {[]coverage.Interval{whole}, []coverage.Interval{span(-0, 200)}, nil, whole, "none"},
		"its beginning":        {[]coverage.Interval{span(0, 30)}, []coverage.Interval{span(0, 30)}, nil, whole, "[30,100)open "},
		"its middle":           {[]coverage.Interval{span(10, 90)}, []coverage.Interval{span(10, 90)}, nil, whole, "[0,100)open "},
		"nothing":              {nil, nil, nil, whole, "[0,100)open "},
		"not recorded":         {[]coverage.Interval{span(0, 29)}, []coverage.Interval{span(0, 30)}, nil, whole, ""},
		"raw has a hole there": {[]coverage.Interval{span(0, 20)}, []coverage.Interval{span(0, 30)}, nil, span(0, 20), "[30,100)open "},
		"its beginning lost":   {[]coverage.Interval{span(20, 50)}, []coverage.Interval{span(20, 50)}, []coverage.Interval{span(0, 20)}, whole, "[0,20)unrecoverable [50,100)open "},
		"its middle lost":      {nil, nil, []coverage.Interval{span(40, 60)}, whole, "[0,40)open [40,60)unrecoverable [60,100)open "},
		"lost, but delivered":  {[]coverage.Interval{whole}, nil, []coverage.Interval{whole}, whole, "none"},
		"all of it lost":       {nil, nil, []coverage.Interval{span(0, 300)}, whole, "[0,100)unrecoverable "},
	} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			s, _ := process(m)
			plan(t, s, window(streamA, 0, 100))
			w := claim(t, s, sdk.WindowClaim{Holder: "h"})
			record(t, s, sdk.CoverageRecord{Stream: streamA, Held: c.cover})
			var raw coverage.Set
			raw.AddHeld(c.raw)
			err := s.CompleteWindow(context.Background(), sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: c.done, Unrecoverable: c.lost}, &raw)
			if refused := sdk.KindOf(err) == sdk.KindRejected; refused != (c.want == "") || err != nil && !refused {
				t.Fatal(err)
			}
			ws, err := s.Windows(context.Background(), lane)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range ws {
				got += fmt.Sprintf("[%d,%d)%s ", w.From, w.Next, w.State)
			}
			if want := map[string]string{"": "[0,100)claimed ", "none": ""}[c.want]; got != c.want && got != want {
				t.Errorf("left: %s, want %s", got, c.want)
			}
		})
	}
}

// Every operation of a claim fails once, in turn; nothing is half done, and
// what was told is there after the loss of power.
func TestEachStepFailsOnce(t *testing.T) {
	for step := range 40 {
		m := disk.NewMem()
		s, _ := process(m)
		plan(t, s, window(streamA, 0, 10))
		n := step
		m.Fail = func(string, string) error {
			if n--; n == -1 {
				return syscall.EIO
			}
			return nil
		}
		w, err := s.ClaimWindow(context.Background(), sdk.WindowClaim{Lane: lane, Holder: "h"})
		m.Fail = nil
		if n >= 0 {
			if w == nil {
				t.Fatal("no claim without a fault")
			}
			return
		}
		if err != nil && (!errors.Is(err, syscall.EIO) || sdk.KindOf(err) != sdk.KindRetryable) {
			t.Fatalf("step %d: %v", step, err)
		}
		if err == nil {
			m.PowerCut(func(string) bool { return false })
		}
		s, _ = process(m)
		ws, werr := s.Windows(context.Background(), lane)
		if werr != nil || len(ws) != 1 || err == nil && ws[0].Fence != 1 {
			t.Fatalf("step %d: %+v, %v; claimed with %v", step, ws, werr, err)
		}
	}
	t.Error("there are more steps than were tried")
}

func TestWhatNobodyMayAsk(t *testing.T) {
	s, _ := process(disk.NewMem())
	for name, err := range map[string]error{
		"raw":           s.Record(context.Background(), sdk.LaneRaw, nil),
		"no name":       s.Record(context.Background(), "", nil),
		"empty window":  second(s.PlanWindows(context.Background(), lane, []sdk.RecoveryWindow{window(streamA, 5, 5)})),
		"claimed":       second(s.PlanWindows(context.Background(), lane, []sdk.RecoveryWindow{{Window: sdk.Window{Stream: streamA, Next: 5}, State: sdk.WindowClaimed}})),
		"past the end":  second(s.PlanWindows(context.Background(), lane, []sdk.RecoveryWindow{window(streamA, 5, sdk.MaxPosition+1)})),
		"lane of a nul": second(s.PlanWindows(context.Background(), "\xff", []sdk.RecoveryWindow{window(streamA, 5, 6)})),
	} {
		if sdk.KindOf(err) != sdk.KindRejected {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
