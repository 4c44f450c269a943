package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestSamplerMeasuresByRole(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	s := startSampler(cmd.Process.Pid, roleHost, os.Getpid(), 0)
	s.finish() // after one sample at least
	for _, role := range []string{roleHost, roleBroker} {
		if s.peakBytes(role) == 0 {
			t.Errorf("%s: no memory seen", role)
		}
	}
	if s.peakBytes(roleSink) != 0 {
		t.Error("a sink was seen")
	}
	if v := s.total.values; len(v) == 0 || v[0] < 1 {
		t.Error("no memory of root and plugins together")
	}
	if len(s.rss().values) == 0 {
		t.Error("no memory of the root over time")
	}
}

// A plugin that was started several times counts once, and the broker and the
// database not at all.
func TestPeakByProgram(t *testing.T) {
	s := &sampler{tracks: map[int]*track{
		1: {role: roleSink, program: "parquet", peak: 5}, 2: {role: roleSink, program: "parquet", peak: 7}, 3: {role: roleSink, program: "postgres", peak: 1},
		4: {role: roleHost, peak: 9}, 5: {role: roleBroker, peak: 100}, 6: {role: roleDatabase, peak: 100},
	}}
	got := s.peakByProgram()
	if len(got) != 3 || got["parquet"] != 7 || got["postgres"] != 1 || got[""] != 9 {
		t.Errorf("%v", got)
	}
}

func TestCPUSecondsAddsTheProcessesOfARole(t *testing.T) {
	one, two, other := &track{role: roleSink}, &track{role: roleSink}, &track{role: roleHost}
	for _, tr := range []*track{one, two, other} {
		tr.cpu.add(sec(0), 1)
		tr.cpu.add(sec(10), 3)
	}
	s := &sampler{tracks: map[int]*track{1: one, 2: two, 3: other}}
	if got := s.cpuSeconds(roleSink, sec(0), sec(5)); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := s.cpuSeconds(roleSource, sec(0), sec(5)); got != 0 {
		t.Errorf("no source: got %v", got)
	}
	if got := s.cpuSeconds(roleHost, sec(20), sec(20).Add(time.Second)); got != 0 {
		t.Errorf("after the end: got %v", got)
	}
}
