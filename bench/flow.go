package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// maxFlowCost is the part of the throughput that flow control, health and
// metrics may cost with no pressure.
const maxFlowCost = 0.03

// unguardedTwg is the host with a plain byte budget in their place (tag
// unguarded).
const unguardedTwg = "twg-unguarded"

const (
	guardedRate   = "with flow control, health and metrics"
	unguardedRate = "with a plain byte budget"
	guardedCPU    = "CPU of host and plugins with them"
	unguardedCPU  = "CPU of host and plugins with a plain byte budget"
	guardedHost   = "host CPU with them"
	unguardedHost = "host CPU with a plain byte budget"
	scrapes       = "scrapes of the metrics"
)

// flowPair runs without, with, with, without, or the other way round: a machine
// that becomes slower or faster meanwhile does so to both.
func (h *harness) flowPair(ctx context.Context, c benchCase, swap bool) (sample, error) {
	seconds, s := map[bool]float64{}, sample{}
	for _, guarded := range []bool{swap, !swap, !swap, swap} {
		var look scraper
		x := contender{"twg", roleHost, look.command}
		if !guarded {
			x = contender{unguardedTwg, roleHost, unguardedCommand}
		}
		o, err := h.runOnce(ctx, x, h.place(c, 1), c.topic)
		look.work.Wait() // it ends with the run
		if err != nil {
			return nil, err
		}
		millions := float64(h.options.Records) / 1e6
		all, host := guardedCPU, guardedHost
		if !guarded {
			all, host = unguardedCPU, unguardedHost
		}
		seconds[guarded] += 1 / o.rowsPerSecond
		s[all] += (o.cpu[roleHost] + o.cpu[roleSource] + o.cpu[roleSink]) / millions / 2
		s[host] += o.cpu[roleHost] / millions / 2
		s[scrapes] += float64(look.count)
	}
	s[guardedRate], s[unguardedRate] = 2/seconds[true], 2/seconds[false]
	return s, nil
}

func concludeFlow(s *scenario) {
	s.show("rows/s", guardedRate, unguardedRate)
	s.show("s/M", guardedCPU, unguardedCPU, guardedHost, unguardedHost)
	s.show("", scrapes)
	s.Figures = append(s.Figures, figure{"part of the CPU that they take", 1 - s.ratio(unguardedCPU, guardedCPU), ""})
	s.judge(
		atLeast("scrapes of the metrics, at least", s.least(scrapes), 2),
		atMost("part of the throughput that they cost", 1-s.ratio(guardedRate, unguardedRate), maxFlowCost, ""),
	)
}

func unguardedCommand(ctx context.Context, t task) (*exec.Cmd, error) {
	cmd, err := twgCommand(ctx, t)
	if err == nil {
		cmd.Path = filepath.Join(t.options.binDir(), unguardedTwg)
	}
	return cmd, err
}

// scraper starts a host with an admin endpoint and asks it for its metrics until
// the run's ctx ends, as Prometheus does, but more often.
type scraper struct {
	work  sync.WaitGroup
	count int // those that were answered; read it after work
}

const scrapeEvery = time.Second

func (s *scraper) command(ctx context.Context, t task) (*exec.Cmd, error) {
	cmd, err := twgCommand(ctx, t)
	if err != nil {
		return nil, err
	}
	// A unix socket's name is short; the run's directory may not be.
	dir, err := os.MkdirTemp("", "twg")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	text := pipelineFile(t) + fmt.Sprintf("\nadmin {\n  listen = %q\n}\n", "unix:"+socket)
	if err := os.WriteFile(filepath.Join(t.dir, "bench.hcl"), []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("write pipeline file: %w", err)
	}
	s.work.Go(func() {
		s.scrape(ctx, socket)
		_ = os.RemoveAll(dir)
	})
	return cmd, nil
}

func (s *scraper) scrape(ctx context.Context, socket string) {
	client := &http.Client{Timeout: scrapeEvery, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := client.Get("http://twg/metrics")
		if err != nil {
			continue // it has not begun yet, or has ended
		}
		size, err := io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if err == nil && r.StatusCode == http.StatusOK && size > 0 {
			s.count++
		}
	}
}
