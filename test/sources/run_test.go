package sources

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
)

// bin holds the product's programs.
var bin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "twg-sources-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	for name, pkg := range map[string]string{"twg": "cmd/twg", "twg-plugin-file-source": "plugins/file-source", "twg-plugin-socket-source": "plugins/socket-source", "twg-plugin-parquet": "plugins/parquet"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/twg-io/twg/"+pkg).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	return m.Run()
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

// host is a "twg run" with its plugins.
type host struct {
	t      *testing.T
	cmd    *exec.Cmd
	done   chan struct{}
	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write takes standard error.
func (h *host) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.Write(b)
}

func (h *host) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.String()
}

func start(t *testing.T, args ...string) *host {
	t.Helper()
	h := &host{t: t, done: make(chan struct{})}
	h.cmd = exec.Command(filepath.Join(bin, "twg"), append([]string{"--plugin-dir", bin, "run"}, args...)...)
	h.cmd.Stderr = h
	h.cmd.WaitDelay = 15 * time.Second
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		h.cmd.Wait()
		close(h.done)
	}()
	t.Cleanup(h.kill)
	return h
}

// wait waits for the end, which must be a good one.
func (h *host) wait() {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(90 * time.Second):
		h.t.Fatalf("twg did not end\n%s", h.said())
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		h.t.Fatalf("exit code %d\n%s", code, h.said())
	}
}

func (h *host) stop() {
	h.t.Helper()
	h.cmd.Process.Signal(os.Interrupt)
	h.wait()
}

// kill ends it with SIGKILL.
func (h *host) kill() {
	h.cmd.Process.Kill()
	<-h.done
}

// plugin is the process of a plugin that this host started; 0: there is none
// just now.
func (h *host) plugin(name string) int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path)
		end := strings.LastIndexByte(string(b), ')')
		if end < 0 {
			continue // it has just ended
		}
		fields := strings.Fields(string(b[end+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(h.cmd.Process.Pid) && exe == filepath.Join(bin, "twg-plugin-"+name) {
			return pid
		}
	}
	return 0
}

// torment runs a pipeline and kills its host or one of its plugins, often, at
// random moments; what was killed is started again, also a host that gave up
// because a plugin was killed while it was being started. It returns the last
// host.
func torment(t *testing.T, rnd *rand.Rand, kills int, source, file string) *host {
	t.Helper()
	h, hurt := start(t, file), false
	for n := 0; n < kills; {
		pause := time.NewTimer(time.Duration(50+rnd.IntN(900)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-h.done:
			if !hurt {
				t.Fatalf("twg ended by itself\n%s", h.said())
			}
			h, hurt = start(t, file), false
			continue
		}
		victim := h.cmd.Process.Pid
		switch rnd.IntN(4) {
		case 0:
			victim = h.plugin(source)
		case 1:
			victim = h.plugin("parquet")
		}
		if victim == 0 || syscall.Kill(victim, syscall.SIGKILL) != nil {
			continue
		}
		n++
		hurt = true
		if victim == h.cmd.Process.Pid {
			<-h.done
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

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, h *host, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s\n%s", what, h.said())
}
