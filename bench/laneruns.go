package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// live is a live run of a topology.
type live struct {
	outcome
	lanes map[string]laneSummary
	// hostCPU is the host's from the first record to its end: it also serves
	// secondaries after the last record was durable in raw. Seconds.
	hostCPU float64
	// delay is the source's lag: seconds that a record waited, on average.
	delay float64
	// totalPeak is the highest resident memory of host and plugins together,
	// bytes.
	totalPeak float64
	peaks     map[string]int64 // by plugin, bytes
}

// total is the CPU of host, plugins and broker, in seconds.
func (l live) total() float64 {
	return l.cpu[roleHost] + l.cpu[roleSource] + l.cpu[roleSink] + l.cpu[roleBroker]
}

// fresh makes a directory, a group and an empty table for a pair of runs.
func (h *harness) fresh(ctx context.Context, c benchCase) (task, error) {
	h.runs++
	t := task{
		address: h.address, topics: []string{c.topic}, place: rawTable{h.database, 1}, options: h.options,
		group: fmt.Sprintf("%s-%d", c.name, h.runs),
	}
	var err error
	if t.dir, err = filepath.Abs(filepath.Join(t.options.out, t.group)); err != nil {
		return t, err
	}
	err = errors.Join(os.RemoveAll(t.dir), os.MkdirAll(t.dir, 0o755), t.place.prepare(ctx, t))
	if err != nil {
		return t, fmt.Errorf("prepare run: %w", err)
	}
	return t, nil
}

// runLive runs the topology until everything of topic is committed. forever:
// as a host that would go on, and is stopped then; recovery works beside the
// live path in such a one only.
func (h *harness) runLive(ctx context.Context, t task, top topology, topic string, forever bool) (live, error) {
	var l live
	ctx, cancel := context.WithTimeout(ctx, patience(t.records()))
	defer cancel()
	file, err := h.writeFile(t, top)
	if err != nil {
		return l, err
	}
	lag, err := watchLag(ctx, t, topic)
	if err != nil {
		return l, err
	}
	args, stop := []string{"run", "--json", "--until-caught-up", file}, (<-chan struct{})(nil)
	if forever {
		args, stop = []string{"run", "--json", file}, lag.caughtUp
	}
	s, watch, err := h.watch(h.twg(ctx, args...), roleHost, stop)
	if err = errors.Join(err, lag.finish()); err != nil {
		return l, fmt.Errorf("%s, left in %s: %w", top.role, t.dir, err)
	}
	if l.outcome, err = measureRun(twg, s, watch, t.options.Records); err != nil {
		return l, err
	}
	end := time.Now()
	l.hostCPU = watch.cpuSeconds(roleHost, s.FirstRecordAt, end)
	l.delay = lag.delay(s.FirstRecordAt)
	l.lanes, l.peaks = s.lanes(), watch.peakByProgram()
	for _, v := range watch.total.between(s.FirstRecordAt, end) {
		l.totalPeak = max(l.totalPeak, v)
	}
	return l, nil
}

func (s summary) lanes() map[string]laneSummary {
	m := map[string]laneSummary{}
	for _, p := range s.Pipelines {
		for _, l := range p.Secondaries {
			m[l.Name] = l
		}
	}
	return m
}

// planned is what twg plan promises of memory, in bytes.
type planned struct {
	Memory struct {
		Host     float64 `json:"host_bytes"`
		Together float64 `json:"together_bytes"`
	} `json:"memory"`
	Pipelines []struct {
		Memory struct {
			Plugins []struct {
				Plugin  string  `json:"plugin"`
				Usual   float64 `json:"usual_bytes"`
				Extreme float64 `json:"extreme_bytes"`
			} `json:"plugins"`
		} `json:"memory"`
	} `json:"pipelines"`
}

// planned asks twg plan about the topology.
func (h *harness) planned(ctx context.Context, t task, top topology) (planned, error) {
	var p planned
	file, err := h.writeFile(t, top)
	if err != nil {
		return p, err
	}
	err = h.ask(ctx, &p, "plan", "--json", file)
	if err == nil && (p.Memory.Host <= 0 || p.Memory.Together <= p.Memory.Host) {
		err = errors.New("the plan has no memory ceiling")
	}
	return p, err
}

// of is what a plugin's processes take at most, in bytes; 0: there is none.
func (p planned) of(plugin string) float64 {
	most := 0.0
	for _, x := range p.Pipelines {
		for _, m := range x.Memory.Plugins {
			if m.Plugin == plugin {
				most = max(most, m.Usual+m.Extreme)
			}
		}
	}
	return most
}

// ask runs a command of twg's and decodes what it prints.
func (h *harness) ask(ctx context.Context, into any, args ...string) error {
	var errs bytes.Buffer
	cmd := h.twg(ctx, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("twg %s: %w\n%s", args[0], err, lastBytes(errs.Bytes(), 2000))
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read what twg %s says: %w", args[0], err)
	}
	return nil
}

// recovered is what twg recover says.
type recovered struct {
	Windows       int   `json:"windows"`
	Rebuilt       int64 `json:"rebuilt"`
	Rejected      int64 `json:"rejected"`
	Left          int64 `json:"left"`
	Unrecoverable int64 `json:"unrecoverable"`
}

// recoverSink rebuilds a secondary, with a new host.
func (h *harness) recoverSink(ctx context.Context, t task, top topology, name string) (recovered, error) {
	var r recovered
	ctx, cancel := context.WithTimeout(ctx, patience(t.records()))
	defer cancel()
	top.role = "recovery"
	file, err := h.writeFile(t, top)
	if err != nil {
		return r, err
	}
	if err := h.ask(ctx, &r, "recover", "--json", "--sink", name, file); err != nil {
		return r, err
	}
	if r.Left != 0 || r.Rejected != 0 || r.Unrecoverable != 0 {
		return r, fmt.Errorf("wrong result: after recovery of %s: %+v", name, r)
	}
	return r, nil
}
