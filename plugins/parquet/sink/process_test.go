package sink

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// The test's own program is the other process, if it is told so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TWG_PARQUET_TEST_WORKER"); dir != "" {
		work(dir)
	}
	os.Exit(m.Run())
}

// tell prints a fact that holds from now on.
func tell(what string, n int64) { fmt.Println(what, n) }

// work writes, records, plans, claims, completes and prunes until it is
// killed.
func work(dir string) {
	t := &testing.T{} // its failures panic below
	ctx := context.Background()
	s := New()
	s.Configure(sdk.NewSettings(fmt.Appendf(nil, `{"dir":%q,"compression":"none"}`, dir)))
	must := func(err error) {
		if err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
	}
	a, err := s.Acquire(ctx, "worker", []sdk.Stream{streamA})
	must(err)
	c, err := s.Coverage(ctx, sdk.LaneRaw, []sdk.Stream{streamA})
	must(err)
	ses := openSession(t, s, sdk.GranularityBatch)
	for p := c[0].Set.FirstHole(); ; p += 10 {
		b := full(t, streamA, a[0].Epoch, p, p+10)
		ses.write(b)
		ses.flush()
		if ses.outcome(ses.seq) != sdk.Durable {
			must(ses.failed)
		}
		tell("written", p+10)
		must(s.Record(ctx, "lake", []sdk.CoverageRecord{{Stream: streamA, Held: []coverage.Interval{{From: p, Next: p + 5}}, LiveFloor: p + 10}}))
		tell("recorded", p)
		recoverOne(ctx, s, p, must)
		if p%50 == 0 {
			got, err := s.Prune(ctx, []sdk.Prune{{Stream: streamA, Below: p - 100}}, false)
			must(err)
			tell("pruned", got[0].RawFloor)
		}
	}
}

// recoverOne does a window's work, as a recovery host would.
func recoverOne(ctx context.Context, s *Sink, p int64, must func(error)) {
	ws, err := s.PlanWindows(ctx, "lake", []sdk.RecoveryWindow{{Window: sdk.Window{Stream: streamA, From: p + 5, Next: p + 10}}})
	must(err)
	if len(ws) == 0 {
		return // its predecessor's
	}
	tell("planned", p)
	w, err := s.ClaimWindow(ctx, sdk.WindowClaim{Lane: "lake", Holder: "worker", ID: ws[0].ID})
	must(err)
	read, err := s.Replay(ctx, w.Window, func(*sdk.Batch) error { return nil })
	must(err)
	var done []coverage.Interval
	for _, r := range read {
		done = append(done, coverage.Interval{From: r.From, Next: r.Next})
	}
	must(s.Record(ctx, "lake", []sdk.CoverageRecord{{Stream: streamA, Held: done}}))
	must(s.CompleteWindow(ctx, sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: done}))
	tell("completed", p)
}

// killAtWork runs a worker until it has told n facts and somewhat longer,
// kills it with kill -9 and adds what it told.
func killAtWork(t *testing.T, dir string, n int, told map[string][]int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TWG_PARQUET_TEST_WORKER="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	watch := time.AfterFunc(time.Minute, func() { child.Process.Kill() })
	defer watch.Stop()
	lines := bufio.NewScanner(out)
	for k := 0; lines.Scan(); k++ {
		var what string
		var at int64
		if _, err := fmt.Sscan(lines.Text(), &what, &at); err != nil {
			t.Fatal(lines.Text())
		}
		told[what] = append(told[what], at)
		if k == n {
			child.Process.Kill()
		}
	}
	child.Wait()
}

// A process that does everything is killed with kill -9, again and again, in a
// real directory. All that it told holds.
func TestKilledAtWork(t *testing.T) {
	dir := t.TempDir()
	told := map[string][]int64{}
	for round := range 6 {
		killAtWork(t, dir, 40+7*round, told)
	}
	if len(told["completed"]) < 20 || len(told["pruned"]) < 4 {
		t.Fatalf("too little work was done: %v", told)
	}
	s := New()
	configure(t, s, dir, "")
	checkRaw(t, s, dir, slices.Max(told["written"]), slices.Max(told["pruned"]))
	checkLane(t, s, told)
}

func checkRaw(t *testing.T, s *Sink, dir string, written, pruned int64) {
	t.Helper()
	ctx := context.Background()
	f, err := s.Floors(ctx, "lake", []sdk.Stream{streamA})
	if err != nil || f[0].Raw < pruned {
		t.Fatalf("floors %+v, %v; pruned to %d", f, err, pruned)
	}
	recs, read := replayAll(t, s, streamA, 0, written)
	if want := fmt.Sprintf("[%d,%d)", f[0].Raw, written); spansOf(read) != want || !slices.Equal(at(recs), count(f[0].Raw, written)) {
		t.Errorf("replay reads %s, want %s", spansOf(read), want)
	}
	prune(t, s, false, sdk.Prune{Stream: streamA, Below: f[0].Raw}) // what a killed one may have left
	d, err := disk.Local(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	there := positions(rows(t, d))
	slices.Sort(there)
	if len(there) == 0 || there[0] != f[0].Raw || len(slices.Compact(slices.Clone(there))) != len(there) {
		t.Errorf("%d rows from %d on, want none twice, from %d on", len(there), there[0], f[0].Raw)
	}
}

func checkLane(t *testing.T, s *Sink, told map[string][]int64) {
	t.Helper()
	ctx := context.Background()
	c, err := s.Coverage(ctx, "lake", []sdk.Stream{streamA})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := s.Windows(ctx, "lake")
	if err != nil {
		t.Fatal(err)
	}
	left := map[int64]bool{}
	for _, w := range ws {
		left[w.From-5] = true
	}
	for _, p := range told["recorded"] {
		if !c[0].Set.Covers(coverage.Interval{From: p, Next: p + 5}) {
			t.Errorf("[%d,%d) was recorded, and is not there", p, p+5)
		}
	}
	for _, p := range told["completed"] {
		if left[p] || !c[0].Set.Covers(coverage.Interval{From: p, Next: p + 10}) {
			t.Errorf("window [%d,%d) was completed; it is there: %v", p+5, p+10, left[p])
		}
	}
	for _, p := range told["planned"] {
		if !left[p] && !c[0].Set.Covers(coverage.Interval{From: p + 5, Next: p + 10}) {
			t.Errorf("window [%d,%d) was planned, and is lost", p+5, p+10)
		}
	}
	f, err := s.Floors(ctx, "lake", []sdk.Stream{streamA})
	if err != nil || f[0].Live < slices.Max(told["recorded"])+10 {
		t.Errorf("floors %+v, %v", f, err)
	}
}
