package plugintest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/serve"
)

// impatience is for plugins that are wrong: many of their cases end only when
// patience does.
const impatience = 7 * time.Second

// TestMain lets the test's own program be the plugins.
func TestMain(m *testing.M) {
	switch strings.TrimPrefix(filepath.Base(os.Args[0]), plugins.Prefix) {
	case "fakesink":
		serveFake(&fakeSink{})
	case "fakesource":
		serveFake(&fakeSource{})
	default:
		patience = impatience
		os.Exit(m.Run())
	}
}

// serveFake serves a fake as every plugin is served, or in a way that no SDK
// would, if its file's directory says so.
func serveFake(p sdk.Plugin) {
	if how, ok := strings.CutPrefix(filepath.Base(filepath.Dir(os.Args[0])), "raw-"); ok {
		serveRaw(p, how)
		return
	}
	serve.Main(p)
}

// install makes the test's program a plugin. raw: see serveFake.
func install(t testing.TB, name, raw string) string {
	t.Helper()
	dir := t.TempDir()
	if raw != "" {
		dir = filepath.Join(dir, "raw-"+raw)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, plugins.Prefix+name)
	if os.Link(self, path) == nil {
		return path
	}
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func fakeSinkConfig(t testing.TB, raw string, wrong ...string) SinkConfig {
	return SinkConfig{Binary: install(t, "fakesink", raw), Invalid: []string{`{"dir":""}`},
		Target: func(t testing.TB) Target {
			dir := t.TempDir()
			return Target{Settings: encodeFake(dir, wrong),
				ReadBack: func() ([]Row, error) {
					s, err := readState(statePath(dir))
					return s.rows(), err
				},
				Touched: func() bool { _, err := os.Stat(statePath(dir)); return err == nil }}
		},
		Break: func(t testing.TB, target Target) func() {
			var set fakeSettings
			if diags := sdk.NewSettings([]byte(target.Settings)).Decode(&set); diags.HasErrors() {
				t.Fatal(diags)
			}
			if err := os.Rename(set.Dir, set.Dir+".away"); err != nil {
				t.Fatal(err)
			}
			return func() { os.Rename(set.Dir+".away", set.Dir) }
		}}
}

func encodeFake(dir string, wrong []string) string {
	b, _ := json.Marshal(map[string]any{"dir": dir, "wrong": append([]string{}, wrong...)})
	return string(b)
}

func fakeSourceConfig(t testing.TB, raw string, wrong ...string) SourceConfig {
	return SourceConfig{Binary: install(t, "fakesource", raw), Invalid: []string{`{"dir":""}`}, Shares: true,
		Service: func(t testing.TB) Service {
			dir := t.TempDir()
			return Service{Settings: encodeFake(dir, wrong), Unreachable: encodeFake(filepath.Join(dir, "nowhere"), wrong),
				Produce: func(s sdk.Stream, recs ...frame.Record) error { return produceInto(dir, s.Partition, recs) },
				Committed: func(s sdk.Stream) (int64, error) {
					at, err := committedIn(dir, s.Partition)
					if os.IsNotExist(err) {
						err = nil
					}
					return at, err
				}}
		}}
}

// A fake that does everything right passes.
func TestRightPluginsPass(t *testing.T) {
	t.Setenv("LC_FAKE_VERSION", "1")
	patience = time.Minute // the machine may be busy, and the race detector on
	flood := floodBytes
	floodBytes = 16 << 20 // twice a sink's credit; the fakes write all that they hold at each commit
	defer func() { patience, floodBytes = impatience, flood }()
	t.Run("sink", func(t *testing.T) { Sink(t, fakeSinkConfig(t, "")) })
	t.Run("sink with durable_flush", func(t *testing.T) { Sink(t, fakeSinkConfig(t, "", "soft")) })
	t.Run("source", func(t *testing.T) { Source(t, fakeSourceConfig(t, "")) })
	t.Run("store-managed source", func(t *testing.T) {
		cfg := fakeSourceConfig(t, "", "store")
		service := cfg.Service
		cfg.Service = func(t testing.TB) Service {
			s := service(t)
			s.Committed = nil
			return s
		}
		Source(t, cfg)
	})
}

// wrongCase is a flaw and the case that must find it.
type wrongCase struct{ wrong, raw, found string }

func TestWrongSinksFail(t *testing.T) {
	cases := []wrongCase{
		{"accepts", "", "configure"}, {"touches", "", "configure"}, {"both", "", "configure"}, {"soft boasts", "", "configure"},
		{"soft flushesnot", "", "durable-flush"}, {"soft mute", "", "stop-flushes"},
		{"early", "", "durable"}, {"empty", "", "rows"}, {"small", "", "sizes"}, {"allrows", "", "ranges"}, {"norows", "", "empty-span"},
		{"half", "", "receipts"}, {"twice", "", "receipts"}, {"deaf", "", "credit"}, {"denies", "", "no-flush"},
		{"noflush", "", "flush"}, {"forgets", "", "flush-overtakes"}, {"repeats", "", "redelivery"}, {"drops", "", "stop"},
		{"stuck", "", "abort"}, {"", "two-sessions", "one-session"}, {"optimist", "", "failure"},
		{"samepoch", "", "epochs"}, {"fencesnot", "", "fenced"}, {"recordsany", "", "record"}, {"overclaims", "", "coverage"},
		{"newest", "", "cursors"}, {"stops", "", "ping"}, {"", "immortal", "orphan"},
		{"halfspan", "", "granularity"}, {"interruptible", "", "signals"},
		{"needsepoch", "", "no-epoch"}, {"swallows", "", "replay"}, {"overreads", "", "replay-held"}, {"forgetful", "", "streams"},
		{"overwrites", "", "lane-coverage"}, {"lowers", "", "live-floor"}, {"overplans", "", "plan"}, {"samefence", "", "claim"},
		{"double", "", "claim-together"}, {"renewsany", "", "renew"}, {"completesany", "", "complete"}, {"forgetslost", "", "unrecoverable"}, {"prunesall", "", "prune"},
	}
	t.Setenv("LC_FAKE", "name")
	mustFail(t, "describe", func(t testing.TB) error {
		return runSink(t, fakeSinkConfig(t, ""), caseOf(t, sinkCases, "describe"))
	})
	os.Unsetenv("LC_FAKE")
	for _, c := range cases {
		t.Run(c.wrong+c.raw, func(t *testing.T) {
			t.Parallel()
			mustFail(t, c.found, func(t testing.TB) error {
				return runSink(t, fakeSinkConfig(t, c.raw, strings.Fields(c.wrong)...), caseOf(t, sinkCases, c.found))
			})
		})
	}
	eachIsThere(t, sinkCases, cases)
}

func TestWrongSourcesFail(t *testing.T) {
	mustFail(t, "describe", func(t testing.TB) error {
		return runSource(t, fakeSourceConfig(t, ""), caseOf(t, sourceCases, "describe"))
	})
	t.Setenv("LC_FAKE_VERSION", "1")
	cases := []wrongCase{
		{"connects", "", "configure"}, {"eager", "", "start"}, {"empty", "", "rows"}, {"small", "", "sizes"}, {"holes", "", "spans"},
		{"", "greedy", "credit"}, {"liar", "", "commit"}, {"remembers", "", "store-position"}, {"goeson", "", "drop"}, {"forgetscommit", "", "restart"}, {"oldruns", "", "new-run"},
		{"startsany", "", "unassigned"}, {"zero", "", "resolve"}, {"repositions", "", "gap"}, {"stopfails", "", "stop"},
		{"snatches", "", "revoke"}, {"stops", "", "ping"}, {"clings", "", "orphan"}, {"", "immortal", "orphan"},
		{"interruptible", "", "signals"},
	}
	for _, c := range cases {
		t.Run(c.wrong+c.raw, func(t *testing.T) {
			t.Parallel()
			mustFail(t, c.found, func(t testing.TB) error {
				return runSource(t, fakeSourceConfig(t, c.raw, c.wrong), caseOf(t, sourceCases, c.found))
			})
		})
	}
	eachIsThere(t, sourceCases, cases)
}

// mustFail runs a case on a plugin that is wrong.
func mustFail(t testing.TB, name string, run func(testing.TB) error) {
	t.Helper()
	err := run(t)
	if err == nil {
		t.Errorf("case %s passes", name)
	}
	t.Log(err)
}

func caseOf[R any](t testing.TB, all []testCase[R], name string) testCase[R] {
	i := slices.IndexFunc(all, func(c testCase[R]) bool { return c.name == name })
	if i < 0 {
		t.Fatal("no case " + name)
	}
	return all[i]
}

// eachIsThere: a case that nothing was seen to fail proves nothing.
func eachIsThere[R any](t *testing.T, all []testCase[R], wrong []wrongCase) {
	for _, c := range all {
		if c.name != "describe" && !slices.ContainsFunc(wrong, func(w wrongCase) bool { return w.found == c.name }) {
			t.Error(fmt.Sprintf("nothing shows that case %s can fail", c.name))
		}
	}
}
