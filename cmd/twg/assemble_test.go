package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/sdk"
)

const rawFirstFile = `
pipeline "orders" {
  role = "ROLE"
  recovery {
    window_rows     = 7
    window_duration = "2m"
    lease_ttl       = "3s"
    budget          = "4MiB"
    interval        = "5s"
  }
  sink "memory" "lake" {
    role     = "secondary"
    buffer   = "1MiB"
    attempts = 2
    config { file = "lake" }
  }
  source "numbers" {
    config { count = 5 }
  }
  sink "vault" "db" {
    role    = "primary-raw"
    durable = true
    config { state = "db" }
  }
  sink "memory" "log" {
    role = "secondary"
    config { file = "log" }
  }
}
`

// checked checks the file above with a role, and fake plugins.
func checked(t *testing.T, role string) *checkedFile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.hcl")
	text := strings.Replace(rawFirstFile, "ROLE", role, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a := &app{cli: &cli{LogLevel: "info", LogFormat: "text"}, stderr: os.Stderr, newLauncher: newFakeLauncher}
	f, err := a.checkFile(t.Context(), file)
	if err != nil || f.diags.HasErrors() {
		t.Fatalf("%v %+v", err, f.diags)
	}
	return f
}

// Each role starts the processes that it needs, and no others; the source's
// least of all.
func TestRolesStartWhatTheyNeed(t *testing.T) {
	for role, want := range map[string]struct {
		role                   pipeline.Role
		source, live, recovery bool
	}{
		"both":     {pipeline.RoleBoth, true, true, true},
		"ingest":   {pipeline.RoleIngest, true, true, false},
		"recovery": {pipeline.RoleRecovery, false, false, true},
	} {
		t.Run(role, func(t *testing.T) {
			f := checked(t, role)
			l := &countingLauncher{}
			cfg, err := assemble(t.Context(), l, f.pipelines[0], newStartup(0, nil))
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Role != want.role || (cfg.Source != nil) != want.source || l.sources != count01(want.source) {
				t.Errorf("role %v, source %v, %d source processes", cfg.Role, cfg.Source, l.sources)
			}
			if _, ok := cfg.Sink.(*vault); !ok || !cfg.SinkCaps.Replayable || !cfg.SinkCaps.OffsetStore {
				t.Errorf("sink %T, %+v", cfg.Sink, cfg.SinkCaps)
			}
			checkSecondaries(t, cfg.Secondaries, want.live, want.recovery)
			if n := 1 + 2*count01(want.live) + 2*count01(want.recovery); l.sinks != n {
				t.Errorf("%d sink processes, want %d", l.sinks, n)
			}
			if r := (pipeline.Recovery{WindowRows: 7, WindowDuration: 2 * time.Minute, LeaseTTL: 3 * time.Second, Budget: 4 << 20, Interval: 5 * time.Second}); cfg.Recovery != r {
				t.Errorf("recovery %+v", cfg.Recovery)
			}
		})
	}
}

func checkSecondaries(t *testing.T, got []pipeline.Secondary, live, recovery bool) {
	t.Helper()
	if len(got) != 2 || got[0].Name != "lake" || got[1].Name != "log" {
		t.Fatalf("secondaries %+v", got)
	}
	if s := got[0]; s.Buffer != 1<<20 || s.Attempts != 2 || !s.Caps.Durable {
		t.Errorf("%+v", s)
	}
	if s := got[1]; s.Buffer != pipeline.DefaultLaneBuffer || s.Attempts != pipeline.DefaultLaneAttempts {
		t.Errorf("%+v", s)
	}
	for _, s := range got {
		if (s.Sink != nil) != live || (s.Recovery != nil) != recovery || live && recovery && s.Sink == s.Recovery {
			t.Errorf("%s: live %v, recovery %v", s.Name, s.Sink, s.Recovery)
		}
	}
}

// The defaults of the language are those of the pipeline.
func TestRecoveryDefaults(t *testing.T) {
	c, _ := config.Load("p.hcl", []byte("pipeline \"p\" {}\n"), config.Env{})
	r := c.Pipelines[0].Recovery
	if r.WindowRows != pipeline.DefaultWindowRows || r.WindowDuration != pipeline.DefaultWindowDuration || r.LeaseTTL != pipeline.DefaultLeaseTTL ||
		r.Budget != pipeline.DefaultRecoveryBudget || r.Interval != pipeline.DefaultInterval {
		t.Errorf("%+v", r)
	}
}

// countingLauncher counts the processes that would run.
type countingLauncher struct {
	fakeLauncher
	sources, sinks int
}

func (l *countingLauncher) source(ctx context.Context, p *checkedPlugin) (sdk.Source, error) {
	l.sources++
	return l.fakeLauncher.source(ctx, p)
}

func (l *countingLauncher) sink(ctx context.Context, p *checkedPlugin) (sdk.Sink, error) {
	l.sinks++
	return l.fakeLauncher.sink(ctx, p)
}

func count01(b bool) int {
	if b {
		return 1
	}
	return 0
}
