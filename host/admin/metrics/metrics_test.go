package metrics

import (
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

var update = flag.Bool("update", false, "write the golden file anew")

var limits = health.Limits{UnreachableAfter: 30 * time.Second, MaxCommitAge: 2 * time.Minute}

// full is a host of which everything is known, and something is wrong.
func full() view.Host {
	now := time.UnixMilli(1_800_000_000_000)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	return view.Host{At: now, Started: ago(time.Hour), Version: "1.2.3", Pipelines: []view.Pipeline{
		{
			Name: "orders", Role: view.RoleBoth, Answered: ago(500 * time.Millisecond), Records: 1000, Bytes: 64000, Alarms: 1,
			Source: view.Source{Name: "kafka-source", Open: true, Restarts: 2, Unreachable: view.Fault{Text: "gone", Since: ago(40 * time.Second)}},
			Sink: view.Sink{Name: "db", Open: true, Restarts: 3, WritesFail: view.Fault{Text: "full", Since: ago(15 * time.Second)},
				Latency:      view.Histogram{Bounds: []float64{.1, 1}, Counts: []uint64{5, 2, 1}, Sum: 4.5},
				BatchBytes:   view.Histogram{Bounds: []float64{1024}, Counts: []uint64{7, 1}, Sum: 64000},
				BatchRecords: view.Histogram{Bounds: []float64{100}, Counts: []uint64{8, 0}, Sum: 1000}},
			Gate: view.Gate{InFlightBytes: 4096, InFlightBatches: 2, Oldest: ago(3 * time.Second), Durable: ago(2 * time.Second), Commits: 9, CommitFailures: 4},
			Streams: []view.Stream{
				{Topic: "orders", Partition: 0, Committed: 90, Frontier: 100, Tail: 120, End: 200, Lag: 110, LagSeconds: 12.5, Holes: 1},
				{Topic: "orders", Partition: 1, Committed: 7, Frontier: 7, Tail: 7, End: 7},
			},
			Lanes: []view.Lane{{Name: "lake", Live: true, Recovers: true, Open: true, BufferedBytes: 512, Delivered: 800, ShedBatches: 3, ShedRows: 150,
				Latency:      view.Histogram{Bounds: []float64{.1, 1}, Counts: []uint64{1, 2, 3}, Sum: 9.5},
				BatchBytes:   view.Histogram{Bounds: []float64{1024}, Counts: []uint64{4, 3}, Sum: 32000},
				BatchRecords: view.Histogram{Bounds: []float64{100}, Counts: []uint64{7, 0}, Sum: 800},
				SetAside:     5, GivenUp: 6, Restarts: 1, Looked: ago(time.Second), Unclaimed: 1, LivePositions: 4, BacklogWindows: 2, BacklogPositions: 195, Rebuilt: 44, Unrecoverable: 11}},
			Plugins: []view.Plugin{{Name: "kafka-source", Part: "source", PID: 7, Restarts: 2}, {Name: "postgres", Part: "sink db", PID: 8, Stopped: true}},
			Flow: &view.Flow{BudgetBytes: 1 << 20, Granted: 1 << 19, Used: 4096, Saturation: 0.5, WarmUp: true, Backpressure: "degraded",
				Stuck: "none", SinkBottleneck: true, LimitBytes: 1 << 18, Expansion: 1.5, ResidentBytes: 90 << 20, MemoryLimit: 1 << 27, Paused: true, StateChanges: 3, WriteFailures: 2, Fill: .25, MemoryIgnored: true},
		},
		{Name: "rebuild", Role: view.RoleRecovery, Answered: now, Lanes: []view.Lane{{Name: "lake", Recovers: true, Looked: now, BacklogPositions: 3}}},
		{Name: "starts", Role: view.RoleRecovery, Answered: now, Lanes: []view.Lane{{Name: "lake", Recovers: true, Looked: now}, {Name: "log", Recovers: true}}},
	}}
}

func scrape(t *testing.T, h view.Host) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(func() view.Host { return h }, limits).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var own strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), "twg_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

func TestMetrics(t *testing.T) {
	got := scrape(t, full())
	const path = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("go test -run TestMetrics -update writes %s anew. Got:\n%s", path, got)
	}
}

var docRow = regexp.MustCompile("(?m)^\\| `(twg_[a-z_]+)` \\| (\\w+) \\| ([^|]*) \\| (.+) \\|$")

// docs/metrics.md has every metric, with its type, labels and meaning, and no
// other.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, exist := map[string]string{}, map[string]string{}
	for _, m := range docRow.FindAllStringSubmatch(string(text), -1) {
		if _, twice := documented[m[1]]; twice {
			t.Errorf("%s stands there twice", m[1])
		}
		documented[m[1]] = m[0]
	}
	for _, m := range all() {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		exist[m.name] = fmt.Sprintf("| `%s` | %s | %s | %s |", m.name, m.kind, labels, m.help)
	}
	for _, name := range slices.Sorted(maps.Keys(exist)) {
		if documented[name] != exist[name] {
			t.Errorf("docs/metrics.md should have\n%s\nand has\n%s", exist[name], documented[name])
		}
	}
	for name := range documented {
		if exist[name] == "" {
			t.Errorf("docs/metrics.md has %s, which does not exist", name)
		}
	}
}

// Every metric comes out of a host of which everything is known.
func TestEveryMetricExists(t *testing.T) {
	got := scrape(t, full())
	for _, m := range all() {
		if !strings.Contains(got, "# TYPE "+m.name+" "+m.kind+"\n") {
			t.Errorf("%s is never said", m.name)
		}
	}
}

// What is not known is left out, and never said to be 0.
func TestUnknownIsLeftOut(t *testing.T) {
	h := full()
	p := &h.Pipelines[0]
	p.Streams[0].End, p.Streams[0].Lag, p.Streams[0].LagSeconds, p.Streams[0].Committed = -1, -1, -1, -1
	p.Flow.Backpressure, p.Flow.Stuck = "", ""
	p.Sink.Latency = view.Histogram{}
	got := scrape(t, h)
	for _, name := range []string{`twg_stream_end{partition="0"`, `twg_stream_lag_records{partition="0"`, `twg_stream_lag_seconds{partition="0"`,
		`twg_stream_committed{partition="0"`, "twg_lag_records{", "twg_lag_seconds{", "twg_backpressure_state{", "twg_stuck_level{", "twg_sink_bottleneck{", "twg_budget_warm_up{", "twg_sink_latency_seconds_"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is said and is not known", name)
		}
	}
	p.Flow = nil
	if got := scrape(t, h); strings.Contains(got, "twg_budget") {
		t.Error("a budget without flow control")
	}
}

// A state set has one 1, whatever the state.
func TestStateSets(t *testing.T) {
	for _, state := range view.BackpressureStates {
		h := full()
		h.Pipelines[0].Flow.Backpressure = state
		got := scrape(t, h)
		for _, s := range view.BackpressureStates {
			want := 0
			if s == state {
				want = 1
			}
			if line := fmt.Sprintf("twg_backpressure_state{pipeline=\"orders\",state=%q} %d\n", s, want); !strings.Contains(got, line) {
				t.Errorf("in state %s there is no %s", state, line)
			}
		}
	}
}

// However many streams there are, and whatever they are called, a scrape works
// and is bounded.
func TestManyStreams(t *testing.T) {
	h := full()
	h.Pipelines[0].Streams = nil
	for i := range 3 * MaxStreams {
		h.Pipelines[0].Streams = append(h.Pipelines[0].Streams, view.Stream{Topic: "t\xff", Partition: int32(i), End: 2, Lag: 2, LagSeconds: 1})
	}
	got := scrape(t, h)
	if n := strings.Count(got, "\ntwg_stream_end{"); n != MaxStreams {
		t.Errorf("%d streams, want %d", n, MaxStreams)
	}
	for _, line := range []string{`twg_streams{pipeline="orders"} 3000`, `twg_streams_left_out{pipeline="orders"} 2000`, `twg_lag_records{pipeline="orders"} 6000`} {
		if !strings.Contains(got, line) {
			t.Errorf("no %s", line)
		}
	}
}

// Two incarnations of a topic are one in the metrics: their lags add up.
func TestTwoIncarnations(t *testing.T) {
	h := full()
	h.Pipelines[0].Streams = []view.Stream{{Topic: "t", Incarnation: "a", Committed: 4, End: 5, Lag: 1, LagSeconds: 3}, {Topic: "t", Incarnation: "b", End: 2, Lag: 2, LagSeconds: 1}}
	got := scrape(t, h)
	for _, line := range []string{`twg_stream_lag_records{partition="0",pipeline="orders",topic="t"} 3`, `twg_stream_lag_seconds{partition="0",pipeline="orders",topic="t"} 3`} {
		if !strings.Contains(got, line) {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

func BenchmarkScrape(b *testing.B) {
	h := full()
	for i := range MaxStreams {
		h.Pipelines[0].Streams = append(h.Pipelines[0].Streams, view.Stream{Topic: "t", Partition: int32(i)})
	}
	handler := Handler(func() view.Host { return h }, limits)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
	}
}

// Each thing that flow control says changes some metric.
func TestFlowHasMetrics(t *testing.T) {
	fields := reflect.TypeFor[view.Flow]()
	before := scrape(t, full())
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "StuckSince" { // since when the level is not none: the level's own history
			continue
		}
		after := full()
		switch f := reflect.ValueOf(after.Pipelines[0].Flow).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Float64:
			f.SetFloat(f.Float() + .125)
		case reflect.String:
			f.SetString(map[string]string{"Backpressure": "critical", "Stuck": "warn"}[name])
		default:
			f.SetInt(f.Int() + 1)
		}
		if scrape(t, after) == before {
			t.Errorf("no metric tells %s", name)
		}
	}
}
