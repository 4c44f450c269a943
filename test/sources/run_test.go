package sources

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
	"github.com/twg-io/twg/test/hostproc"
)

// bin holds the product's programs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(hostproc.Main(m, &bin, "file-source", "socket-source", "parquet"))
}

// pipeline writes a pipeline file from a source's block into a directory of
// Parquet files that close often.
func pipeline(t *testing.T, more, source string) (file, lake string) {
	t.Helper()
	lake = filepath.Join(t.TempDir(), "lake")
	text := fmt.Sprintf(`pipeline "p" {
  memory_budget = "16MB"
  max_ack_delay = "100ms"
  %s
  %s
  sink "parquet" "lake" {
    config {
      dir            = %q
      max_file_bytes = "200KB"
      max_file_rows  = 300
      max_file_age   = "200ms"
    }
  }
}
`, more, source, lake)
	file = filepath.Join(t.TempDir(), "p.hcl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, lake
}

func start(t *testing.T, args ...string) *hostproc.Host {
	t.Helper()
	return hostproc.Start(t, exec.Command(filepath.Join(bin, "twg"), append([]string{"--plugin-dir", bin, "run"}, args...)...))
}

// plugin is the process of a plugin that the host started; 0: there is none just
// now.
func plugin(h *hostproc.Host, name string) int {
	for _, pid := range h.Plugins(name) {
		return pid
	}
	return 0
}

// torment runs a pipeline and kills its host or one of its plugins, often, at
// random moments; what was killed is started again, also a host that gave up
// because a plugin was killed while it was being started. It returns the last
// host.
func torment(t *testing.T, rnd *rand.Rand, kills int, source, file string) *hostproc.Host {
	t.Helper()
	h, hurt := start(t, file), false
	for n := 0; n < kills; {
		pause := time.NewTimer(time.Duration(50+rnd.IntN(900)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-h.Done:
			if !hurt {
				t.Fatalf("twg ended by itself\n%s", h.Said())
			}
			h, hurt = start(t, file), false
			continue
		}
		victim := h.Cmd.Process.Pid
		switch rnd.IntN(4) {
		case 0:
			victim = plugin(h, source)
		case 1:
			victim = plugin(h, "parquet")
		}
		if victim == 0 || syscall.Kill(victim, syscall.SIGKILL) != nil {
			continue
		}
		n++
		hurt = true
		if victim == h.Cmd.Process.Pid {
			<-h.Done
			h, hurt = start(t, file), false
		}
	}
	return h
}

// rows are all rows of a directory, in the order of its files.
func rows(t *testing.T, lake string) (out []verify.Row) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(lake, "*.parquet"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		f, err := readback.Parquet(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Rows...)
	}
	return out
}

// seed is fixed, or TWG_SEED.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv("TWG_SEED"), 10, 64)
	if err != nil {
		n = 4
	}
	t.Logf("seed %d", n)
	return rand.New(rand.NewPCG(n, 0))
}
