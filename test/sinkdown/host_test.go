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
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
	"github.com/twg-io/twg/test/hostproc"
)

// host is a "twg run" with its plugins, whose memory is watched.
type host struct {
	*hostproc.Host
	w     *world
	mu    sync.Mutex
	peaks peaks
}

// peaks are the highest figures of memory, in bytes. Own leaves out pages of the
// programs' files, which the system can take back, as flow control does.
type peaks struct {
	processes       int
	host, both, own int64
	worst           string // what both is made of
}

func (w *world) start() *host {
	w.t.Helper()
	h := &host{w: w, Host: hostproc.Start(w.t, exec.Command(filepath.Join(bin, "twg"), "--plugin-dir", bin, "run", w.file))}
	var watch sync.WaitGroup
	watch.Go(h.watch)
	w.t.Cleanup(func() {
		h.Kill()
		watch.Wait()
	})
	return h
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
		case <-h.Done:
			return
		}
	}
}

func (h *host) sample() {
	var now peaks
	stats, _ := filepath.Glob("/proc/[0-9]*/status")
	me := strconv.Itoa(h.Cmd.Process.Pid)
	for _, path := range stats {
		b, err := os.ReadFile(path)
		f := fields(b)
		if err != nil || f["Pid"] != me && f["PPid"] != me {
			continue
		}
		all := bytesOf(f["VmRSS"])
		if f["Pid"] == me {
			now.host = all
		}
		now.processes++
		now.both += all
		now.own += all - bytesOf(f["RssFile"])
		now.worst += fmt.Sprintf(" %s %.0f", f["Name"], mib(all))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.peaks
	if now.both > p.both {
		p.both, p.worst = now.both, now.worst
	}
	p.processes, p.host, p.own = max(p.processes, now.processes), max(p.host, now.host), max(p.own, now.own)
}

func bytesOf(text string) int64 {
	kib, _ := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	return kib << 10
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

// keptTo holds the highest memory against the plan. Its ceiling is the host's
// alone; here that of the plugins, as flow control counts it, fits in as well.
func (h *host) keptTo(p planned) {
	t := h.w.t
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.peaks
	text := fmt.Sprintf("the host had %.1f MiB (ceiling %.1f), all %d processes %.1f (ceiling with plugins %.1f), %.1f without pages of files; MiB at that time:%s",
		mib(m.host), mib(p.Memory.Host), m.processes, mib(m.both), mib(p.Memory.Together), mib(m.own), m.worst)
	t.Log(text)
	if m.processes != 3 || m.host > p.Memory.Host || m.both > p.Memory.Together || m.own > p.Memory.Host {
		t.Error("too much: " + text)
	}
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
