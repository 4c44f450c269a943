package main

import (
	"fmt"
	"strings"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// memoryPlan bounds what the host holds of one pipeline (INV5). Plugins have
// memory of their own, by their own settings.
type memoryPlan struct {
	// BudgetBytes is admission, FrameBytes the one frame that may pass it; a
	// host that never touches the source has neither.
	BudgetBytes int64 `json:"budget_bytes"`
	FrameBytes  int64 `json:"frame_bytes"`
	// LanesBytes are the buffers of the secondaries together.
	LanesBytes int64 `json:"lanes_bytes,omitempty"`
	// RecoveryBytes are recovery's budget, or one frame if that is larger, and
	// the frame that is being read, for each secondary.
	RecoveryBytes int64 `json:"recovery_bytes,omitempty"`
	ConstantBytes int64 `json:"constant_bytes"`
	CeilingBytes  int64 `json:"ceiling_bytes"`
	lanes         []string
}

// hostConstant is what a host takes without any record: code, buffers of the
// connections to its plugins, and the collector's headroom for both.
const hostConstant = 64 << 20

// frameOverhead is what a frame may have besides its records' bytes when it
// carries one record of the largest size: header, offsets, padding.
const frameOverhead = 64 << 10

// memoryCeiling is what a host that runs the whole file holds at most.
func memoryCeiling(f *checkedFile) int64 {
	ceiling := int64(hostConstant)
	for _, p := range f.pipelines {
		ceiling += planMemory(p).CeilingBytes - hostConstant
	}
	return ceiling
}

func planMemory(p *checkedPipeline) memoryPlan {
	m := memoryPlan{ConstantBytes: hostConstant}
	frame := max(int64(sdk.DefaultLimits.FrameBytes), p.MaxRecordBytes) + frameOverhead
	secondaries := p.secondaries()
	if p.Role != config.RoleRecovery {
		m.BudgetBytes, m.FrameBytes = p.MemoryBudget, frame
		for _, s := range secondaries {
			m.LanesBytes += s.Buffer
			m.lanes = append(m.lanes, fmt.Sprintf("%s that wait for %q", bytesText(s.Buffer), s.Name))
		}
	}
	if p.Role != config.RoleIngest && len(secondaries) > 0 {
		// A frame that passes the budget is held alone, beside its copy.
		m.RecoveryBytes = int64(len(secondaries)) * (max(p.Recovery.Budget, frame) + frame)
	}
	m.CeilingBytes = m.BudgetBytes + m.FrameBytes + m.LanesBytes + m.RecoveryBytes + m.ConstantBytes
	return m
}

// text is the sum for people.
func (m memoryPlan) text() string {
	var parts []string
	if m.FrameBytes > 0 {
		parts = append(parts, bytesText(m.BudgetBytes)+" of records in flight", "one frame of at most "+bytesText(m.FrameBytes))
	}
	parts = append(parts, m.lanes...)
	if m.RecoveryBytes > 0 {
		parts = append(parts, bytesText(m.RecoveryBytes)+" for recovery (for each sink its budget, or a frame that is larger, and the frame that is being read)")
	}
	return fmt.Sprintf("at most %s: %s, and a constant of %s. Plugins have memory of their own.",
		bytesText(m.CeilingBytes), strings.Join(parts, ", "), bytesText(m.ConstantBytes))
}
