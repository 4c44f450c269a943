package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// mustLoad loads a file that has no problem.
func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, diags := check("in.hcl", text, goldenEnv())
	if len(diags) > 0 {
		t.Fatalf("diagnostics: %+v", diags)
	}
	return c
}

const parts = `
  source "queue" {
    config { brokers = ["a:1"] }
  }
  sink "lake" "files" {
    config { dir = "./out" }
  }
}
`

func TestDefaults(t *testing.T) {
	p := mustLoad(t, `pipeline "orders" {`+parts).Pipelines[0]
	got := []any{p.Name, p.Role, p.Granularity, p.MemoryBudget, p.MaxRecordBytes, p.MaxAckDelay, p.ShutdownTimeout, p.OnGap, p.OnDivergence, len(p.AcceptLoss), p.Source.Plugin, p.Sinks[0].Plugin, p.Sinks[0].Name}
	want := []any{"orders", RoleBoth, sdk.GranularityBatch, int64(128 << 20), int64(64 << 20), 10 * time.Second, 30 * time.Second, OnGapFail, OnDivergenceFail, 0, "queue", "lake", "files"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if want := (Recovery{WindowRows: 100_000, WindowDuration: 5 * time.Minute, LeaseTTL: 30 * time.Second, Budget: 16 << 20, Interval: 5 * time.Second}); !reflect.DeepEqual(p.Recovery, want) {
		t.Errorf("recovery: got %+v, want %+v", p.Recovery, want)
	}
	if p.Gate() != p.Sinks[0] {
		t.Error("the one sink does not gate")
	}
}

func TestEveryAttribute(t *testing.T) {
	c := mustLoad(t, `
plugin_dir = "./bin"
pipeline "orders" {
  role             = "ingest"
  granularity      = "record"
  memory_budget    = 1048576
  max_record_bytes = "100KB"
  max_ack_delay    = "250ms"
  shutdown_timeout = "1m30s"
  on_gap           = "continue"
  on_divergence    = "new_incarnation"
  accept_loss      = ["queue"]
  topic "slow" { granularity = "batch" }
  topic "same" {}
`+parts)
	p := c.Pipelines[0]
	got := []any{c.PluginDir, p.Role, p.Granularity, p.MemoryBudget, p.MaxRecordBytes, p.MaxAckDelay, p.ShutdownTimeout, p.OnGap, p.OnDivergence, p.AcceptLoss, p.Topics}
	want := []any{"./bin", RoleIngest, sdk.GranularityRecord, int64(1 << 20), int64(100_000), 250 * time.Millisecond, 90 * time.Second, OnGapContinue, OnDivergenceNewIncarnation, []string{"queue"},
		map[string]sdk.Granularity{"slow": sdk.GranularityBatch, "same": sdk.GranularityBatch}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestSecondary(t *testing.T) {
	p := mustLoad(t, `
pipeline "orders" {
  recovery {
    window_rows     = 1000
    window_duration = "1m"
    lease_ttl       = "10s"
    budget          = "4MiB"
    interval        = "1s"
  }
  source "queue" {
    config { brokers = ["a:1"] }
  }
  sink "lake" "a" {
    role     = "secondary"
    durable  = false
    buffer   = "8MiB"
    attempts = 3
    config { dir = "a" }
  }
  sink "database" "db" {
    role    = "primary-raw"
    durable = true
    config { token = env("SECRET") }
  }
  sink "lake" "b" {
    role = "secondary"
    config { dir = "b" }
  }
}`).Pipelines[0]
	if g, s := p.Gate(), p.Secondaries(); g.Name != "db" || len(s) != 2 || s[0].Name != "a" || s[1].Name != "b" {
		t.Fatalf("gate %s, secondaries %v", g.Name, s)
	}
	a, b, r := p.Sinks[0], p.Sinks[2], p.Recovery
	got := []any{a.Buffer, a.Attempts, *a.Durable, b.Buffer, b.Attempts, b.Durable == nil, r.WindowRows, r.WindowDuration, r.LeaseTTL, r.Budget, r.Interval}
	want := []any{int64(8 << 20), 3, false, int64(32 << 20), 5, true, int64(1000), time.Minute, 10 * time.Second, int64(4 << 20), time.Second}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Case 20: a dollar sign is a dollar sign, except before a brace.
func TestSettingsText(t *testing.T) {
	tests := map[string]string{
		`"pa$$word"`:                             "pa$$word",
		`"a$b"`:                                  "a$b",
		`"$HOME"`:                                "$HOME",
		`"trailing$"`:                            "trailing$",
		`"$${x}"`:                                "${x}",
		`"100%"`:                                 "100%",
		`"%%{x}"`:                                "%{x}",
		`env("SECRET")`:                          "hunter2-from-env",
		`env("NOT_SET", "or this")`:              "or this",
		`file("secret.txt")`:                     "hunter2-from-file",
		`format("%s:%d", "h", 1)`:                "h:1",
		`"<${env("SECRET")}>"`:                   "<hunter2-from-env>",
		`env("DOLLAR")`:                          "a$b${c}",
		`env("SECRET") == "x" ? "equal" : "not"`: "not",
		`7`:                                      "7",
	}
	env := goldenEnv()
	lookup := env.LookupEnv
	env.LookupEnv = func(name string) (string, bool) {
		if name == "DOLLAR" {
			return "a$b${c}", true
		}
		return lookup(name)
	}
	for _, expr := range slices.Sorted(maps.Keys(tests)) {
		text := "pipeline \"x\" {\n source \"queue\" {\n config {\n brokers = []\n password = " + expr + "\n }\n }\n sink \"lake\" \"f\" {\n config { dir = \"d\" }\n }\n}"
		c, diags := Load("in.hcl", []byte(text), env)
		settings, more := CheckSettings(c.Pipelines[0].Source.Settings, fakePlugins["queue"].schema)
		var got struct{ Password string }
		if err := json.Unmarshal(settings.JSON(), &got); err != nil || len(diags)+len(more) > 0 {
			t.Errorf("%s: %v %v %v", expr, err, diags, more)
		}
		if got.Password != tests[expr] {
			t.Errorf("%s is %q, want %q", expr, got.Password, tests[expr])
		}
	}
}

func TestSettingsTypes(t *testing.T) {
	c := mustLoad(t, `
pipeline "orders" {
  source "queue" {
    config {
      brokers = ["a:1", 2]
      limits  = { bytes = 9007199254740993, rows = "5" }
      linger  = 0.5
    }
  }
  sink "lake" "files" {
    config { dir = "./out" }
  }
}`)
	settings, _ := CheckSettings(c.Pipelines[0].Source.Settings, fakePlugins["queue"].schema)
	const want = `{"brokers":["a:1","2"],"limits":{"bytes":9007199254740993,"rows":5},"linger":0.5}`
	if got := string(settings.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c := mustLoad(t, `
pipeline "orders" {
  source "queue" {
    config {
      brokers  = [nonsensitive(env("DIR"))]
      password = "literal-secret"
    }
  }
  sink "database" "raw" {
    config { token = env("SECRET") }
  }
}`)
	got := c.Secrets.Hide("login with hunter2-from-env and literal-secret at ./from-env failed")
	if want := "login with (hidden) and (hidden) at ./from-env failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A secret is hidden in quotes, too: in an error that quotes it, and in a log
// line that quotes the error.
func TestQuotedSecretsAreHidden(t *testing.T) {
	const secret = `pa"ss\wörd<1>` + "\t%"
	var s Secrets
	s.add(secret)
	inJSON, err := json.Marshal("open " + secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		secret, fmt.Sprintf("open %q", secret), fmt.Sprintf("%q", fmt.Sprintf("open %q", secret)),
		fmt.Sprintf("%+q", secret), string(inJSON), fmt.Sprintf("%q", inJSON),
	} {
		if got := s.Hide(text); !strings.Contains(got, "(hidden)") || strings.Contains(got, "ss") {
			t.Errorf("%s became %s", text, got)
		}
	}
	s.reveal(secret)
	if text := fmt.Sprintf("open %q", secret); s.Hide(text) != text {
		t.Errorf("revealed, and still hidden: %s", s.Hide(text))
	}
}

func TestTooLarge(t *testing.T) {
	_, diags := Load("in.hcl", []byte(strings.Repeat("#", maxFile+1)), goldenEnv())
	if !diags.HasErrors() {
		t.Error("accepted")
	}
}

// The parser recurses; each of these would take it very far down.
func TestTooDeep(t *testing.T) {
	const n = 50_000
	for _, text := range []string{
		strings.Repeat("(", n), strings.Repeat("[", n) + strings.Repeat("]", n), strings.Repeat("!", n) + "1", strings.Repeat("-", n) + "1",
		strings.Repeat("\"${", n/2), strings.Repeat("{a=", n), strings.Repeat("1?1:", n) + "1", "1" + strings.Repeat("[0", n),
	} {
		_, diags := Load("in.hcl", []byte("a = "+text), goldenEnv())
		if len(diags) != 1 || diags[0].Summary != "File nested too deeply" {
			t.Errorf("%.20s...: %d diagnostics", text, len(diags))
		}
	}
	if _, diags := Load("in.hcl", []byte(strings.Repeat("x {\n", n/2)), goldenEnv()); len(diags) != 1 {
		t.Errorf("blocks: %d diagnostics", len(diags))
	}
}

func TestDiagnosticsJSON(t *testing.T) {
	_, diags := check("in.hcl", `pipelin "x" {}`, goldenEnv())
	got, err := json.Marshal(diags)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"severity":"error","summary":"Unknown block","detail":"There is no block \"pipelin\" at the top of a file. Did you mean \"pipeline\"?","file":"in.hcl","line":1,"column":1,"end_line":1,"end_column":8,"snippet":"pipelin \"x\" {}"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
