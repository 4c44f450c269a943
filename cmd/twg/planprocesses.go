package main

import (
	"fmt"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// processMemory is what one plugin's process takes at most, resident.
type processMemory struct {
	Plugin string `json:"plugin"`
	// Name is a sink's; Work says which of its processes it is, where a
	// secondary has one for what is new and one for what is rebuilt.
	Name string `json:"name,omitempty"`
	Work string `json:"work,omitempty"`
	// BaseBytes are any plugin's (pluginBase).
	BaseBytes int64 `json:"base_bytes"`
	// UsualBytes are BaseBytes and what the plugin says it takes besides;
	// ExtremeBytes are more of that, where what comes is as large, or as much,
	// as settings and limits allow.
	UsualBytes   int64 `json:"usual_bytes"`
	ExtremeBytes int64 `json:"extreme_bytes"`
	// Assumed: the plugin does not say; this is twice what it may have in work.
	Assumed bool `json:"assumed,omitempty"`
}

// pluginBase is what a plugin's process in Go takes before it holds a record,
// and what grows in it whatever it does: its program's pages, the runtime, the
// transport, stacks, its driver's tables and caches.
//
// Measured as the highest resident memory (VmHWM) on linux/amd64, in MiB: 20.3
// idle (parquet whose directory is out of reach, through a whole run); busy with
// 2,000 records of 0.5 KB, which are 1 MB, 25.1 (file-source) and 26.6 (parquet).
const pluginBase = 28 << 20

func (p processMemory) ceiling() int64 { return p.UsualBytes + p.ExtremeBytes }

// addPlugins adds the processes that this host runs, and all together.
func (m *memoryPlan) addPlugins(p *checkedPipeline) {
	m.Plugins = pluginProcesses(p)
	m.UsualBytes, m.CeilingBytes = m.HostBytes, m.HostBytes
	for _, x := range m.Plugins {
		m.UsualBytes += x.UsualBytes
		m.CeilingBytes += x.ceiling()
	}
}

// pluginProcesses are as many as processes counts.
func pluginProcesses(p *checkedPipeline) []processMemory {
	var out []processMemory
	if p.source != nil && p.Role != config.RoleRecovery {
		out = append(out, processOf(p, p.source, p.MemoryBudget, 0))
	}
	secondaries := p.secondaries()
	replays, inWork := 0, p.MemoryBudget
	if p.Role != config.RoleIngest {
		replays = len(secondaries)
	}
	if p.Role == config.RoleRecovery {
		inWork = 0
	}
	out = append(out, processOf(p, p.gate().plugin, inWork, replays).named(p.gate().Name, ""))
	for _, s := range secondaries {
		live, rebuilds := processOf(p, s.plugin, s.Buffer, 0), processOf(p, s.plugin, p.Recovery.Budget, 0)
		switch p.Role {
		case config.RoleIngest:
			out = append(out, live.named(s.Name, ""))
		case config.RoleRecovery:
			out = append(out, rebuilds.named(s.Name, "recovery"))
		default:
			out = append(out, live.named(s.Name, "live"), rebuilds.named(s.Name, "recovery"))
		}
	}
	return out
}

func (p processMemory) named(sink, work string) processMemory {
	p.Name, p.Work = sink, work
	return p
}

// processOf adds up one process. inWork is how many bytes of frames it may have
// been sent, or have sent, that are not answered yet.
func processOf(p *checkedPipeline, plugin *checkedPlugin, inWork int64, replays int) processMemory {
	said := plugin.caps.Memory
	out := processMemory{Plugin: plugin.name, BaseBytes: pluginBase, Assumed: said == (sdk.Memory{})}
	if out.Assumed {
		said = assumed(inWork)
	}
	out.UsualBytes = pluginBase + said.Usual + int64(replays)*said.Replay
	beyond := largestFrame(p) - frameOverhead - int64(sdk.DefaultLimits.FrameBytes)
	out.ExtremeBytes = said.Extreme + int64(said.Frames)*beyond
	return out
}

// assumedFrames are those that a plugin that says nothing may hold of the
// largest record, beyond what counts as in work: one that arrives, one that it
// works on, one that it makes of it, and as much garbage.
const assumedFrames = 6

// assumed stands in for what a plugin does not say: everything in work is in
// its memory, what has come and waits for it too, and a collector lets the heap
// double.
func assumed(inWork int64) sdk.Memory {
	return sdk.Memory{
		Usual:  sdk.Garbage * (inWork + sdk.SinkCredit),
		Frames: assumedFrames, Replay: sdk.Garbage * sdk.SinkCredit,
	}
}

// text is a line for people.
func (p processMemory) text() string {
	who := p.Plugin
	if p.Name != "" {
		who = fmt.Sprintf("%s %q", p.Plugin, p.Name)
	}
	if p.Work != "" {
		who += ", " + p.Work
	}
	out := fmt.Sprintf("%s: %s", who, bytesText(p.ceiling()))
	if p.ExtremeBytes > 0 {
		out += fmt.Sprintf(", of which %s only in the extreme", bytesText(p.ExtremeBytes))
	}
	if p.Assumed {
		out += "; this is an assumption, the plugin does not say what it takes"
	}
	return out + "."
}

// togetherText is the last line: what host and plugins take at most.
func togetherText(of string, usual, ceiling int64) string {
	out := fmt.Sprintf("%s: at most %s.", of, bytesText(ceiling))
	if usual < ceiling {
		out += fmt.Sprintf(" Without extremes (records larger than a frame of %s, up to max_record_bytes; batches, windows, connections and files as large or as many as the plugins' settings allow): %s.",
			bytesText(int64(sdk.DefaultLimits.FrameBytes)), bytesText(usual))
	}
	return out
}
