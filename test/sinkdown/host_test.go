//go:build services

package sinkdown

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// patience is for a machine with other work.
const patience = 4 * time.Minute

// host is a "twg run" with its plugins, whose memory is watched.
type host struct {
	w      *world
	cmd    *exec.Cmd
	done   chan struct{}
	mu     sync.Mutex
	stderr bytes.Buffer
	peak   int64 // of host and plugins together, in bytes
	pids   int   // processes at that time
	worst  string
}

// Write takes standard error.
func (h *host) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.Write(b)
}

// said is all that the host has said.
func (h *host) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.String()
}

func (w *world) start() *host {
	w.t.Helper()
	h := &host{w: w, done: make(chan struct{})}
	h.cmd = exec.Command(filepath.Join(bin, "twg"), "--plugin-dir", bin, "run", w.file)
	h.cmd.Stderr = h
	h.cmd.WaitDelay = 15 * time.Second
	must(w.t, h.cmd.Start())
	go func() { // ends with the process, which the cleanup below ends
		h.cmd.Wait()
		close(h.done)
	}()
	var watch sync.WaitGroup
	watch.Go(h.watch)
	w.t.Cleanup(func() {
		h.cmd.Process.Kill()
		<-h.done
		watch.Wait()
	})
	return h
}

// stop asks for a graceful end.
func (h *host) stop() {
	h.w.t.Helper()
	h.cmd.Process.Signal(os.Interrupt)
	select {
	case <-h.done:
	case <-time.After(patience):
		h.w.t.Fatalf("twg did not end\n%s", h.said())
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		h.w.t.Errorf("exit code %d\n%s", code, h.said())
	}
}

// watch takes the memory of host and plugins ten times a second, until the host
// ends.
func (h *host) watch() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.sample()
		case <-h.done:
			return
		}
	}
}

func (h *host) sample() {
	sum, n, text := int64(0), 0, ""
	stats, _ := filepath.Glob("/proc/[0-9]*/status")
	me := strconv.Itoa(h.cmd.Process.Pid)
	for _, path := range stats {
		if b, err := os.ReadFile(path); err == nil {
			if f := fields(b); f["Pid"] == me || f["PPid"] == me {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(f["VmRSS"], " kB"), 10, 64)
				sum, n = sum+kib<<10, n+1
				text += fmt.Sprintf(" %s %.0f", f["Name"], float64(kib)/1024)
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if sum > h.peak {
		h.peak, h.pids, h.worst = sum, n, text
	}
}

// fields are those of a file like /proc/self/status.
func fields(b []byte) map[string]string {
	out := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}

// staysBelow holds the highest memory against the ceiling.
func (h *host) staysBelow(t *testing.T, ceiling int64) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peak > ceiling || h.pids < 3 {
		t.Errorf("%d processes had %.1f MiB resident, the ceiling is %.1f MiB:%s", h.pids, mib(h.peak), mib(ceiling), h.worst)
	}
	t.Logf("memory of %d processes: at most %.1f of %.1f MiB (MiB:%s)", h.pids, mib(h.peak), mib(ceiling), h.worst)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// ask reads a page of the admin endpoint, nil if nobody answers.
func (h *host) ask(path string) []byte {
	resp, err := h.w.http.Get("http://twg" + path)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return b
}

func (h *host) status() view.Pipeline {
	var v view.Host
	if json.Unmarshal(h.ask("/status"), &v) != nil || len(v.Pipelines) == 0 {
		return view.Pipeline{}
	}
	return v.Pipelines[0]
}

// ready is the verdict, and whether it names the gating sink.
func (h *host) ready() (v health.Verdict, sinkFails bool) {
	if json.Unmarshal(h.ask("/ready"), &v) != nil {
		return v, false
	}
	for _, r := range v.Reasons {
		sinkFails = sinkFails || r.Code == health.SinkFailing
	}
	return v, sinkFails
}

// eventually polls until ok, for as long as patience lasts.
func (h *host) eventually(what string, ok func() bool) {
	h.w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if ok() {
			return
		}
		select {
		case <-tick.C:
		case <-h.done:
			h.w.t.Fatalf("the host ended by itself, before %s\n%s", what, h.said())
		}
	}
	h.w.t.Fatalf("waited in vain for %s: %+v\n%s", what, h.status(), h.said())
}
