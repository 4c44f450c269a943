package hang

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/readback"
)

const (
	records  = 20_000
	exitCode = 4 // docs/cli.md
)

// A host whose loop stands still is unhealthy, and then ends with the exit code
// for what is stuck. It says where each goroutine stands, its plugins end with
// it, and the next host delivers everything, once.
func TestHungLoopEndsTheProcess(t *testing.T) {
	w := newWorld(t)
	helpers := w.withHelpers()
	point := w.armLoop()
	p := w.start()
	plugins := w.awaitHang(p, point)
	helper := helpers()
	if !runs(helper) {
		t.Fatal("the sink's plugin has no process beside it")
	}
	w.eventually("/live fails", p, func() bool {
		code, body := w.ask("/live")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "no sign of life")
	})
	if code := p.end(); code != exitCode {
		t.Errorf("exit code %d, want %d", code, exitCode)
	}
	for _, text := range []string{"the loop seems to hang", "the pipeline's loop hangs", "goroutine 1 [", "faultpoint.Hit", "(*Pipeline).loop"} {
		if !strings.Contains(p.said(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	w.gone(p, append(plugins, control.Process{PID: helper}))
	if t.Failed() {
		t.Log(p.said())
	}
	w.catchUp()
}

// Standard error that nobody reads takes less than a dump: the process ends all
// the same, and its plugins with it.
func TestHungWithNobodyToTell(t *testing.T) {
	w := newWorld(t)
	point := w.armLoop()
	r, full, err := os.Pipe()
	must(t, err)
	defer r.Close()
	const setPipeSize = 1031 // F_SETPIPE_SZ: a page, enough for the log and not for the dump
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, full.Fd(), setPipeSize, 4096); errno != 0 {
		t.Fatal(errno)
	}
	p := w.startInto(full)
	full.Close()
	plugins := w.awaitHang(p, point)
	if code := p.end(); code != exitCode {
		t.Errorf("exit code %d, want %d", code, exitCode)
	}
	w.gone(p, plugins)
	w.catchUp()
}

// withHelpers gives each process of the sink's plugin another one beside it, in
// its group. That one heeds nothing but a kill of the group. The returned function
// gives the newest.
func (w *world) withHelpers() (newest func() int) {
	w.t.Helper()
	dir := w.t.TempDir()
	list := filepath.Join(dir, "pids")
	must(w.t, os.WriteFile(filepath.Join(dir, "twg-plugin-parquet"), fmt.Appendf(nil, "#!/bin/sh\ntrap '' HUP TERM INT\nsleep 100 </dev/null >/dev/null 2>&1 &\necho $! >>%s\nexec %s/twg-plugin-parquet\n", list, bin), 0o755))
	must(w.t, os.Symlink(filepath.Join(bin, "twg-plugin-file-source"), filepath.Join(dir, "twg-plugin-file-source")))
	w.plugins = dir
	pids := func() (out []int) {
		text, _ := os.ReadFile(list)
		for line := range strings.Lines(string(text)) {
			var pid int
			fmt.Sscan(line, &pid)
			out = append(out, pid)
		}
		return out
	}
	w.t.Cleanup(func() {
		for _, pid := range pids() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return func() int { all := pids(); return all[len(all)-1] }
}

// armLoop has the loop of the next host stop where it gives its third batch to
// the sink's session.
func (w *world) armLoop() (point int) { return w.ctl.Arm("track", 3, isHost) }

// awaitHang waits for that, and returns the plugins.
func (w *world) awaitHang(p *process, point int) []control.Process {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if _, err := w.ctl.Wait(ctx, point); err != nil {
		w.t.Fatalf("the loop does not come to its third batch: %v\n%s", err, p.said())
	}
	plugins := w.ctl.Live(func(x control.Process) bool { return x.Parent == p.cmd.Process.Pid })
	if len(plugins) != 2 {
		w.t.Fatalf("plugins: %v", plugins)
	}
	return plugins
}

// gone waits until the plugins are.
func (w *world) gone(p *process, plugins []control.Process) {
	w.t.Helper()
	for _, x := range plugins {
		w.eventually("the plugin's end", p, func() bool { return !runs(x.PID) })
	}
}

// A host that was stopped for longer than its loop may be silent, as with a
// machine that sleeps, goes on as if nothing had been.
func TestStoppedHostDoesNotHang(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	w.eventually("it is ready", p, func() bool { code, _ := w.ask("/ready"); return code == http.StatusOK })
	plugins := w.ctl.Live(func(x control.Process) bool { return x.Parent == p.cmd.Process.Pid })
	p.signal(syscall.SIGSTOP)
	for _, x := range plugins { // else they would miss its pings
		syscall.Kill(x.PID, syscall.SIGSTOP)
	}
	<-time.After(longest + 4*time.Second)
	for _, x := range plugins {
		syscall.Kill(x.PID, syscall.SIGCONT)
	}
	p.signal(syscall.SIGCONT)
	w.eventually("it is ready again", p, func() bool { code, _ := w.ask("/ready"); return code == http.StatusOK })
	p.signal(syscall.SIGINT)
	if code := p.end(); code != 0 || strings.Contains(p.said(), "sign of life") {
		t.Errorf("exit code %d\n%s", code, p.said())
	}
	w.catchUp()
}

func isHost(x control.Process) bool { return x.Role == "twg" }

// runs reports whether a process is there, and no zombie.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	return len(after) > 0 && after[0] != 'Z' && after[0] != 'X'
}

// world is a file of records, and a pipeline that has its own endpoint.
type world struct {
	t         *testing.T
	ctl       *control.Server
	lake      string
	file      string // of the pipeline
	plugins   string // their directory
	client    *http.Client
	faultSock string
}

// longest is after how long without a sign of life the host ends.
const longest = 8 * time.Second

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, plugins: bin, lake: filepath.Join(dir, "lake"), file: filepath.Join(dir, "p.hcl"), faultSock: filepath.Join(dir, "f")}
	var lines bytes.Buffer
	for i := range records {
		fmt.Fprintf(&lines, "{\"n\": %d, \"text\": %q}\n", i, strings.Repeat("x", 200))
	}
	must(t, os.WriteFile(filepath.Join(dir, "in.ndjson"), lines.Bytes(), 0o644))
	socket := filepath.Join(dir, "s")
	must(t, os.WriteFile(w.file, fmt.Appendf(nil, `admin { listen = %q }
pipeline "p" {
  memory_budget = "64KiB"
  max_ack_delay = "200ms"
  source "file-source" {
    config {
      cluster = "here"
      path    = %q
    }
  }
  sink "parquet" "lake" {
    config { dir = %q }
  }
  flow {
    hang_warn      = "5s"
    hang_unhealthy = "5s"
    hang_exit      = %q
  }
}
`, "unix:"+socket, filepath.Join(dir, "in.ndjson"), w.lake, longest), 0o644))
	w.client = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
	ctl, err := control.Listen(w.faultSock)
	must(t, err)
	w.ctl = ctl
	t.Cleanup(ctl.Close)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask returns the code, 0 if nobody answers, and the body.
func (w *world) ask(path string) (int, string) {
	resp, err := w.client.Get("http://twg" + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// catchUp runs another host to the end, and wants each record once.
func (w *world) catchUp() {
	w.t.Helper()
	if p := w.start("--until-caught-up"); p.end() != 0 {
		w.t.Fatalf("the next host: %s", p.said())
	}
	paths, err := filepath.Glob(filepath.Join(w.lake, "*.parquet"))
	must(w.t, err)
	rows := map[int64]int{}
	for _, path := range paths {
		f, err := readback.Parquet(path)
		must(w.t, err)
		for _, r := range f.Rows {
			rows[r.Position]++
		}
	}
	for at, n := range rows {
		if n != 1 {
			w.t.Fatalf("position %d is there %d times", at, n)
		}
	}
	if len(rows) != records {
		w.t.Errorf("%d records of %d", len(rows), records)
	}
}

// process is a host.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	mu  sync.Mutex
	err bytes.Buffer
}

// Write takes standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()
}

func (w *world) start(flags ...string) *process { return w.startInto(nil, flags...) }

// startInto has standard error go into a file; nil: it is kept.
func (w *world) startInto(stderr *os.File, flags ...string) *process {
	w.t.Helper()
	p := &process{t: w.t}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	w.t.Cleanup(cancel)
	p.cmd = exec.CommandContext(ctx, filepath.Join(bin, "twg"), append(append([]string{"--plugin-dir", w.plugins, "run"}, flags...), w.file)...)
	p.cmd.Env = append(os.Environ(), "TWG_FAULT_SOCKET="+w.faultSock)
	p.cmd.Stderr = p
	if stderr != nil {
		p.cmd.Stderr = stderr
	}
	p.cmd.WaitDelay = 10 * time.Second
	must(w.t, p.cmd.Start())
	w.t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(sig))
}

// end waits for the exit code.
func (p *process) end() int {
	p.t.Helper()
	if err := p.cmd.Wait(); err != nil && p.cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventually polls until ok, or fails the test after a minute.
func (w *world) eventually(what string, p *process, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	w.t.Fatalf("waited in vain: %s\n%s", what, p.said())
}

// bin holds the product's programs, with fault points.
var bin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "twg-hang-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	for name, pkg := range map[string]string{"twg": "cmd/twg", "twg-plugin-file-source": "plugins/file-source", "twg-plugin-parquet": "plugins/parquet"} {
		out, err := exec.Command("go", "build", "-tags", "faults", "-o", filepath.Join(dir, name), "github.com/twg-io/twg/"+pkg).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	return m.Run()
}
