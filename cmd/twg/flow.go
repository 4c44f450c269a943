package main

import (
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/flow"
	hostmemory "github.com/twg-io/twg/host/memory"
	"github.com/twg-io/twg/host/pipeline"
)

// flowControl is what the file says about flow control.
func flowControl(f *config.Flow) pipeline.FlowControl {
	pressure, stuck := flow.DefaultPressure, flow.DefaultStuck
	pressure.MemoryDegraded, pressure.MemoryCritical = f.MemoryDegraded, f.MemoryCritical
	pressure.FillDegraded, pressure.FillCritical = f.ChannelDegraded, f.ChannelCritical
	pressure.ClearFor, pressure.RecoverFor = f.RecoverAfter, f.RecoverFor
	stuck.Memory = f.MemoryDegraded
	stuck.Warn, stuck.Unhealthy, stuck.Exit, stuck.ClearAfter = f.StuckWarn, f.StuckUnhealthy, f.StuckExit, f.StuckClear
	return pipeline.FlowControl{
		RecordSize: f.RecordSize, Pressure: pressure, Stuck: stuck,
		Hang:   flow.HangConfig{Warn: f.HangWarn, Unhealthy: f.HangUnhealthy, Exit: f.HangExit},
		WarmUp: flow.WarmUp{Fraction: f.WarmUp, Acks: f.WarmUpAcks, Timeout: f.WarmUpTimeout},
	}
}

// memoryReader returns what pipelines ask for the memory of host and plugins.
// What cannot be read is said once, and counts as not known.
func memoryReader(l launcher, limit int64, log *slog.Logger) func() (resident, limit int64) {
	r := &hostmemory.Reader{PIDs: l.pids, Limit: limit}
	if os.Getenv("GOMEMLIMIT") != "" {
		r.GoLimit = debug.SetMemoryLimit(-1) // only reads it
	}
	var once sync.Once
	return func() (int64, int64) {
		u, err := r.Read()
		if err != nil {
			once.Do(func() { log.Warn("memory cannot be read and plays no part in flow control", "error", err) })
			return 0, 0
		}
		return u.Resident, u.Limit
	}
}
