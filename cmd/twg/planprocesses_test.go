package main

import (
	"testing"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

const mib = 1 << 20

// plannedPipeline has of a source, a raw sink and two secondaries, of which
// the last does not say what it takes.
func plannedPipeline(role config.Role) *checkedPipeline {
	plugin := func(name string, m sdk.Memory) *checkedPlugin {
		return &checkedPlugin{name: name, caps: sdk.Capabilities{Memory: m}}
	}
	p := &checkedPipeline{Pipeline: &config.Pipeline{Name: "p", Role: role, MemoryBudget: 100 * mib, MaxRecordBytes: 3 * mib}}
	p.Recovery.Budget = 4 * mib
	p.source = plugin("in", sdk.Memory{Usual: mib, Extreme: 2 * mib, Frames: 3})
	p.sinks = []checkedSink{
		{&config.Sink{Name: "raw", Role: config.SinkPrimaryRaw}, plugin("db", sdk.Memory{Usual: 10 * mib, Replay: 7 * mib})},
		{&config.Sink{Name: "lake", Role: config.SinkSecondary, Buffer: 8 * mib}, plugin("files", sdk.Memory{Usual: 20 * mib})},
		{&config.Sink{Name: "log", Role: config.SinkSecondary, Buffer: 32 * mib}, plugin("mute", sdk.Memory{})},
	}
	return p
}

// Each process that a host runs is there once, with what its plugin says, or
// what is assumed of one that says nothing; the ceiling is the sum.
func TestEveryProcessCounts(t *testing.T) {
	const base = pluginBase / mib
	in := processMemory{Plugin: "in", UsualBytes: base + 1, ExtremeBytes: 2 + 3*2}
	raw := func(replays int64) processMemory {
		return processMemory{Plugin: "db", Name: "raw", UsualBytes: base + 10 + 7*replays}
	}
	lake := func(work string) processMemory {
		return processMemory{Plugin: "files", Name: "lake", Work: work, UsualBytes: base + 20}
	}
	log := func(work string, inWork int64) processMemory {
		return processMemory{Plugin: "mute", Name: "log", Work: work, UsualBytes: base + 2*(inWork+16), ExtremeBytes: 2 * assumedFrames, Assumed: true}
	}
	for role, want := range map[config.Role][]processMemory{
		config.RoleIngest:   {in, raw(0), lake(""), log("", 32)},
		config.RoleRecovery: {raw(2), lake("recovery"), log("recovery", 4)},
		config.RoleBoth:     {in, raw(2), lake("live"), lake("recovery"), log("live", 32), log("recovery", 4)},
	} {
		m := planMemory(plannedPipeline(role))
		if len(m.Plugins) != len(want) || len(want) != m.Processes {
			t.Fatalf("%s: %d processes in the plan, %d that run, want %d", role, len(m.Plugins), m.Processes, len(want))
		}
		usual, ceiling := m.HostBytes, m.HostBytes
		for i, w := range want {
			w.BaseBytes, w.UsualBytes, w.ExtremeBytes = pluginBase, w.UsualBytes*mib, w.ExtremeBytes*mib
			if m.Plugins[i] != w {
				t.Errorf("%s: %+v, want %+v", role, m.Plugins[i], w)
			}
			usual, ceiling = usual+w.UsualBytes, ceiling+w.UsualBytes+w.ExtremeBytes
		}
		if m.UsualBytes != usual || m.CeilingBytes != ceiling {
			t.Errorf("%s: together %d and %d, want %d and %d", role, m.UsualBytes, m.CeilingBytes, usual, ceiling)
		}
	}
}

// Records that fit a frame cost nothing beyond it.
func TestSmallRecordsAreNotExtreme(t *testing.T) {
	p := plannedPipeline(config.RoleIngest)
	p.MaxRecordBytes = 1000
	if got := planMemory(p).Plugins[0].ExtremeBytes; got != 2*mib {
		t.Errorf("%d bytes, want only the plugin's own extreme", got)
	}
}
