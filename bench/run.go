package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// summary is what both contenders print when they are done.
type summary struct {
	Records       int64     `json:"records"`
	FirstRecordAt time.Time `json:"first_record_at"`
	AllDurableAt  time.Time `json:"all_durable_at"`
	// Pipelines is twg's alone.
	Pipelines []struct {
		Secondaries []laneSummary `json:"secondaries"`
	} `json:"pipelines"`
}

// laneSummary is what twg says of a secondary.
type laneSummary struct {
	Name      string `json:"name"`
	Delivered int64  `json:"delivered"`
	Shed      int64  `json:"shed"`
	Rebuilt   int64  `json:"rebuilt"`
	Missing   int64  `json:"missing"`
}

// outcome is one run, measured from its first record to its last commit.
type outcome struct {
	rowsPerSecond float64
	cpu           map[string]float64 // seconds by role
	peak          map[string]int64   // bytes by role
	rootRSS       []float64          // bytes, over time
	rootGrowth    float64            // bytes
	output        output
}

// runOnce runs a contender on a fresh group, directory and place, verifies
// what it wrote and removes it.
func (h *harness) runOnce(ctx context.Context, c contender, p place, topics ...string) (outcome, error) {
	h.runs++
	t := task{
		address: h.address, topics: topics, place: p, options: h.options,
		group: fmt.Sprintf("%s-%d", c.name, h.runs),
	}
	dir, err := filepath.Abs(filepath.Join(t.options.out, t.group))
	if err != nil {
		return outcome{}, err
	}
	t.dir = dir
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), p.prepare(ctx, t)); err != nil {
		return outcome{}, fmt.Errorf("prepare run: %w", err)
	}
	o, err := h.runAndVerify(ctx, c, t)
	if err != nil {
		return o, fmt.Errorf("%s, left in %s: %w", c.name, filepath.Join(t.options.out, t.group), err)
	}
	return o, os.RemoveAll(dir)
}

func (h *harness) runAndVerify(ctx context.Context, c contender, t task) (outcome, error) {
	s, watch, err := h.execute(ctx, c, t)
	if err != nil {
		return outcome{}, err
	}
	o, err := measureRun(c, s, watch, t.records())
	if err != nil {
		return o, err
	}
	if o.output, err = t.place.read(ctx, t); err != nil {
		return o, err
	}
	return o, checkCommitted(ctx, t)
}

// execute starts the program, watches it until it ends, and reads the last
// line that it printed.
func (h *harness) execute(ctx context.Context, c contender, t task) (summary, *sampler, error) {
	ctx, cancel := context.WithTimeout(ctx, patience(t.records()))
	defer cancel()
	cmd, err := c.command(ctx, t)
	if err != nil {
		return summary{}, nil, err
	}
	return h.watch(cmd, c.role, nil)
}

// watch is execute for a command. When stop is closed, the program is asked to
// end in good order; nil: it ends by itself.
func (h *harness) watch(cmd *exec.Cmd, role string, stop <-chan struct{}) (summary, *sampler, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return summary{}, nil, err
	}
	watch := startSampler(cmd.Process.Pid, role, h.broker.Process.Pid, h.databasePID())
	ended := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case <-stop:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	})
	err := cmd.Wait()
	close(ended)
	asking.Wait()
	watch.finish()
	if err != nil {
		return summary{}, nil, fmt.Errorf("%w\n%s", err, lastBytes(errs.Bytes(), 2000))
	}
	var s summary
	if err := json.Unmarshal(lastLine(out.Bytes()), &s); err != nil {
		return s, nil, fmt.Errorf("read summary %q: %w", lastLine(out.Bytes()), err)
	}
	return s, watch, nil
}

// patience is how long a run may take: as long as 5,000 records a second do.
func patience(records int64) time.Duration {
	return time.Minute + time.Duration(records)*time.Second/5000
}

func measureRun(c contender, s summary, watch *sampler, records int64) (outcome, error) {
	took := s.AllDurableAt.Sub(s.FirstRecordAt)
	if s.FirstRecordAt.IsZero() || took <= 0 {
		return outcome{}, fmt.Errorf("summary says first record at %v, all durable at %v", s.FirstRecordAt, s.AllDurableAt)
	}
	o := outcome{
		rowsPerSecond: float64(records) / took.Seconds(),
		cpu:           map[string]float64{}, peak: map[string]int64{},
		rootRSS:    watch.rss().between(s.FirstRecordAt, s.AllDurableAt),
		rootGrowth: watch.rss().growth(s.FirstRecordAt, s.AllDurableAt),
	}
	for _, role := range []string{c.role, roleSource, roleSink, roleBroker, roleDatabase} {
		o.cpu[role] = watch.cpuSeconds(role, s.FirstRecordAt, s.AllDurableAt)
		o.peak[role] = watch.peakBytes(role)
	}
	return o, nil
}

func lastLine(b []byte) []byte {
	b = bytes.TrimSpace(b)
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
