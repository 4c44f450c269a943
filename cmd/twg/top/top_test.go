package top

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	var trimmed strings.Builder
	for line := range strings.Lines(got + "\n") {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(trimmed.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if trimmed.String() != string(want) {
		t.Errorf("%s differs; -update writes it anew. Got:\n%s", path, trimmed.String())
	}
}

// at is a look at a host that has been up for seconds, with a bit of
// everything.
func at(seconds int) Look {
	start := time.UnixMilli(1_800_000_000_000)
	now := start.Add(time.Duration(seconds) * time.Second)
	n := int64(seconds) * int64(seconds)
	return Look{
		Host: view.Host{At: now, Started: start, Version: "1.2.3", Pipelines: []view.Pipeline{
			{Name: "orders", Role: view.RoleBoth, Answered: now, Records: 1000 * n, Bytes: 64_000 * n,
				Source: view.Source{Name: "kafka-source", Open: true},
				Sink: view.Sink{Name: "db", Open: true, Restarts: 3,
					Latency: view.Histogram{Bounds: []float64{.1, 1}, Counts: []uint64{50, 49, 1}, Sum: 30}},
				Gate: view.Gate{InFlightBytes: 12 << 20, InFlightBatches: 1200, Oldest: now.Add(-3 * time.Second), Durable: now.Add(-200 * time.Millisecond), Commits: 90, CommitFailures: 4},
				Streams: []view.Stream{
					{Topic: "orders", Partition: 0, Committed: 7, Frontier: 7, Tail: 7, End: 7},
					{Topic: "orders", Partition: 1, Committed: 90, Frontier: 100, Tail: 120, End: 123456, Lag: 123366, LagSeconds: 95},
				},
				Lanes: []view.Lane{{Name: "lake", Live: true, Recovers: true, Open: true, Delivered: 800, ShedRows: 150, Latency: view.Histogram{Bounds: []float64{.1, 1}, Counts: []uint64{7, 1, 0}, Sum: 1}, SetAside: 5, GivenUp: 6,
					Looked: now, Unclaimed: 1, BacklogWindows: 2, BacklogPositions: 195, Rebuilt: 44, Unrecoverable: 11}},
				Plugins: []view.Plugin{{Name: "kafka-source", Part: "source", PID: 7, Restarts: 2}, {Name: "postgres", Part: "sink db", PID: 8}, {Name: "parquet", Part: "sink lake"}},
				Flow: &view.Flow{BudgetBytes: 128 << 20, Granted: 64 << 20, Used: 12 << 20, Saturation: .375, LimitBytes: 32 << 20, Expansion: 2.5, WarmUp: true,
					ResidentBytes: 450 << 20, MemoryLimit: 512 << 20, Fill: .08, Paused: true, WriteFailures: 3,
					Backpressure: "degraded", Stuck: "none", SinkBottleneck: true}},
			{Name: "rebuild", Role: view.RoleRecovery, Answered: now, Lanes: []view.Lane{{Name: "copy", Recovers: true, Looked: now}, {Name: "new", Recovers: true}}},
		}},
		Ready: health.Verdict{Reasons: []health.Reason{{Code: health.SinkFailing, Pipeline: "orders", Part: "db", Detail: "connection refused"}},
			Notes: []health.Reason{{Code: health.PluginDown, Pipeline: "orders", Part: "sink lake", Detail: "plugin parquet: no process runs"}}},
	}
}

// fed is a model that has got the looks.
func fed(looks ...Look) *Model {
	m := NewModel("127.0.0.1:9464", time.Second, nil)
	for _, l := range looks {
		m.Update(looked{look: l})
	}
	return m
}

func minute() (out []Look) {
	for s := range 60 {
		out = append(out, at(s))
	}
	return out
}

func TestView(t *testing.T) {
	golden(t, "asking", NewModel("unix:/run/twg.sock", time.Second, nil).View())
	golden(t, "first", fed(at(1)).View())
	golden(t, "minute", fed(minute()...).View())

	starting := at(1)
	starting.Host.Pipelines = nil
	starting.Ready = health.Verdict{Reasons: []health.Reason{{Code: health.Starting, Detail: "the plugins are being started"}}}
	golden(t, "starting", fed(starting).View())

	m := fed(at(1), at(2))
	m.Update(looked{err: errors.New("ask 127.0.0.1:9464: connection refused")})
	golden(t, "gone", m.View())
	m.Update(looked{look: at(3)})
	if strings.Contains(m.View(), "refused; ") || strings.Contains(m.View(), "NO ANSWER") {
		t.Error("an answer does not end that there was none")
	}

	m = fed(at(1), at(2))
	m.Update(tea.WindowSizeMsg{Width: 50, Height: 10})
	golden(t, "small", m.View())
}

// Whatever the terminal's size, nothing is drawn outside of it.
func TestStaysInside(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {10, 3}, {80, 24}, {300, 100}} {
		m := fed(minute()...)
		m.Update(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
		lines := strings.Split(m.View(), "\n")
		if len(lines) > max(s[1], 3) {
			t.Errorf("%v: %d lines", s, len(lines))
		}
		for _, l := range lines {
			if n := len([]rune(l)); n > s[0] {
				t.Errorf("%v: a line of %d columns: %q", s, n, l)
			}
		}
	}
}

func press(m *Model, keys ...string) (cmd tea.Cmd) {
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		switch k {
		case "up":
			msg = tea.KeyMsg{Type: tea.KeyUp}
		case "down":
			msg = tea.KeyMsg{Type: tea.KeyDown}
		case "pgdown":
			msg = tea.KeyMsg{Type: tea.KeyPgDown}
		case "ctrl+c":
			msg = tea.KeyMsg{Type: tea.KeyCtrlC}
		}
		_, cmd = m.Update(msg)
	}
	return cmd
}

func TestKeys(t *testing.T) {
	m := fed(at(1))
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 6})
	first := m.View()
	if press(m, "up", "k"); m.View() != first {
		t.Error("it moves above the first line")
	}
	if press(m, "down"); m.View() == first {
		t.Error("it does not move")
	}
	if press(m, "up"); m.View() != first {
		t.Error("it does not move back")
	}
	press(m, "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
	end := m.View()
	if !strings.Contains(end, "copy · nothing to rebuild") {
		t.Errorf("the end is not the last line:\n%s", end)
	}
	if press(m, "down"); m.View() != end {
		t.Error("it moves past the end")
	}
	for _, k := range []string{"q", "ctrl+c"} {
		if cmd := press(m, k); cmd == nil || cmd() != tea.Quit() {
			t.Errorf("%s does not end it", k)
		}
	}
}

// One look is under way at a time: the next is due after the answer.
func TestAsks(t *testing.T) {
	looks := 0
	m := NewModel("a", time.Millisecond, func() (Look, error) { looks++; return at(looks), nil })
	cmd := m.Init()
	for range 3 {
		if _, cmd = m.Update(cmd()); cmd == nil {
			t.Fatal("no next look")
		}
		if msg := cmd(); msg != (due{}) {
			t.Fatalf("%T", msg)
		}
		_, cmd = m.Update(due{})
	}
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
}

// A process that was started anew begins at zero; its rates are not negative.
func TestRestartedHost(t *testing.T) {
	again := at(1)
	again.Host.Started = again.Host.Started.Add(100 * time.Second)
	again.Host.Pipelines[0].Answered = again.Host.Started.Add(time.Second)
	m := fed(at(50), at(51), again)
	if h := m.seen["orders"]; len(h.recordRates) != 0 {
		t.Errorf("%v", h.recordRates)
	}
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		rates   []float64
		columns int
		want    string
	}{
		{nil, 5, ""}, {[]float64{0, 0}, 5, "▁▁"}, {[]float64{0, 50, 100}, 5, "▁▄█"}, {[]float64{1000, 1, 2}, 2, "▄█"},
	} {
		if got := sparkline(c.rates, c.columns); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.rates, c.columns, got, c.want)
		}
	}
}

// Names that a broker gives cannot drive the terminal.
func TestCleans(t *testing.T) {
	l := at(1)
	l.Host.Pipelines[0].Streams[0].Topic = "a\x1b[2Jb"
	l.Ready.Reasons[0].Detail = "c\nd\x1b]0;e\a"
	m := fed(l)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	plain := strings.Join(lines(&l, map[string]*history{}), "\n")
	if got := m.View() + plain; strings.ContainsAny(got, "\x1b\a") || !strings.Contains(got, "a·[2Jb/0") {
		t.Errorf("%q", got)
	}
}

func TestPlain(t *testing.T) {
	seen := map[string]*history{}
	first, second := at(1), at(2)
	got := append(lines(&first, seen), lines(&second, seen)...)
	well := at(3)
	well.Ready = health.Verdict{OK: true}
	well.Host.Pipelines[0].Flow, well.Host.Pipelines[0].Streams = nil, nil
	got = append(got, lines(&well, seen)...)
	golden(t, "plain", strings.Join(got, "\n"))
}

// lineCounter ends something after so many lines.
type lineCounter struct {
	strings.Builder
	left int
	end  context.CancelFunc
}

func (c *lineCounter) Write(b []byte) (int, error) {
	if c.left--; c.left == 0 {
		c.end()
	}
	return c.Builder.Write(b)
}

// Lines come until it is told to end; a host that does not answer later is one
// of them.
func TestPlainGoesOn(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked > 2 && asked < 5 {
			w.WriteHeader(500)
			return
		}
		w.Write([]byte(`{"pipelines": [{"name": "p"}]}`))
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out := &lineCounter{left: 5, end: cancel}
	if err := Plain(ctx, out, NewClient(s.Listener.Addr().String(), ""), 100*time.Microsecond); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 5 || !strings.HasPrefix(got[0], "p: ready") || !strings.Contains(got[1], "500") || !strings.HasPrefix(got[4], "p: ready") {
		t.Errorf("%q", got)
	}
}

func TestClientErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"token":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "TWG_ADMIN_TOKEN"},
		"other":    {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, "not a twg host's"},
		"not here": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.answer)
			defer s.Close()
			_, err := NewClient(s.Listener.Addr().String(), "").Look(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	err := Plain(context.Background(), &strings.Builder{}, NewClient("unix:"+filepath.Join(t.TempDir(), "none"), ""), 0)
	if err == nil || !strings.Contains(err.Error(), "admin block") {
		t.Errorf("%v", err)
	}
}

func TestClientBringsToken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(401)
			return
		}
		w.Write([]byte("{}"))
	}))
	defer s.Close()
	if _, err := NewClient(s.Listener.Addr().String(), "secret").Look(t.Context()); err != nil {
		t.Error(err)
	}
}

// Each thing that flow control says, and metrics tell, is on the screen.
func TestShowsFlow(t *testing.T) {
	const screen = 200 // wide enough for every line
	show := func(f view.Flow) string {
		l := at(59)
		l.Host.Pipelines[0].Flow = &f
		m := fed(l)
		m.width, m.height = screen, screen
		return m.View()
	}
	fields := reflect.TypeFor[view.Flow]()
	before := show(*at(59).Host.Pipelines[0].Flow)
	for i := range fields.NumField() {
		f := *at(59).Host.Pipelines[0].Flow
		name := fields.Field(i).Name
		switch v := reflect.ValueOf(&f).Elem().Field(i); {
		case name == "StuckSince" || name == "StateChanges": // history, for metrics
			continue
		case v.Kind() == reflect.Bool:
			v.SetBool(!v.Bool())
		case v.Kind() == reflect.Float64:
			v.SetFloat(v.Float() + .125)
		case v.Kind() == reflect.String:
			v.SetString(map[string]string{"Backpressure": "critical", "Stuck": "warn"}[name])
		default:
			v.SetInt(v.Int() * 2)
		}
		if show(f) == before {
			t.Errorf("%s is not shown", name)
		}
	}
}

// A reason that is longer than a line goes on in the next: its end says why.
func TestFoldsReasons(t *testing.T) {
	l := at(1)
	l.Ready.Reasons[0].Detail = strings.Repeat("connect to one address after the other: ", 8) + "permission denied at last"
	if got := fed(l).View(); !strings.Contains(got, "permission denied at last") {
		t.Errorf("the end is cut off:\n%s", got)
	}
	m := fed(at(1))
	m.Update(looked{err: errors.New(strings.Repeat("a long way to the cause: ", 12) + "no route at last")})
	if got := m.View(); !strings.Contains(got, "no route at last") {
		t.Errorf("the end is cut off:\n%s", got)
	}
}
