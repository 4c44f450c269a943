package main

import (
	"fmt"
	"strings"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
)

// memoryPlan bounds what the host holds of one pipeline (INV5), and what its
// plugins take.
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
	// ReadAheadBytes is what raw may have sent that recovery has not read.
	ReadAheadBytes int64 `json:"read_ahead_bytes,omitempty"`
	// Processes are the plugins that run, ProcessBytes what the host has for
	// their connections.
	Processes     int   `json:"processes"`
	ProcessBytes  int64 `json:"process_bytes"`
	ConstantBytes int64 `json:"constant_bytes"`
	// HostBytes is the sum of those: the host's ceiling.
	HostBytes int64           `json:"host_bytes"`
	Plugins   []processMemory `json:"plugins"`
	// UsualBytes are host and plugins without what plugins call extreme,
	// CeilingBytes with it.
	UsualBytes   int64 `json:"usual_bytes"`
	CeilingBytes int64 `json:"ceiling_bytes"`
	lanes        []string
}

// hostConstant is what a host takes besides records and connections: code, and
// the collector's headroom.
//
// Measured as the highest resident memory (VmHWM) of the host on linux/amd64, of
// which 20 MiB are pages of the program's file, with budgets of 4 MiB and 1 MiB:
//
//	                               idle      400,000 records of 0.5 KB
//	                               (MiB)     (MiB)   beyond the budgets
//	1 pipeline, 2 processes        26.3      33.5    28.4
//	  + 1 secondary, 4             27.6      49.2    41.0
//	  + 3 secondaries, 8           29.1      62.8    48.4
//	  + 8 secondaries, 18          31.4      82.9    52.8
//	8 pipelines, 16                31.2      67.6    27.1
//	4 pipelines + 1 secondary, 16            71.2    38.4
//
// and with 40 records of 7 MB, beyond the budgets: 31.1 alone, 34.5 with one
// secondary, 30.5 with three. So it is 25 to 31 MiB without recovery; 0.3 MiB for
// each process, busy or not; and what recovery adds is what raw sends ahead of
// it, 12.6, 20.0 and 24.4 MiB, which flow control bounds. With a budget
// of 128 MiB and a lane of 64 MiB, both full of records of 0.5 KB, it was 51: frames
// lie in buffers that are a little larger than they are. The rest of the constant is
// for what was not tried.
const hostConstant = 64 << 20

// programBytes are the pages of the program's file in that: memory that the
// collector does not know of.
const programBytes = 20 << 20

// processBytes is a plugin's connection: goroutines, and the transport's
// buffers.
const processBytes = 512 << 10

// frameOverhead is what a frame may have besides its records' bytes when it
// carries one record of the largest size: header, offsets, padding.
const frameOverhead = 64 << 10

// ceilings are those of a whole file.
type ceilings struct {
	// Host is what the host holds at most.
	Host int64 `json:"host_bytes"`
	// Usual are host and plugins together without what plugins call extreme,
	// Together with it.
	Usual    int64 `json:"usual_bytes"`
	Together int64 `json:"together_bytes"`
}

// memoryCeilings adds up the pipelines, with the host's constant once.
func memoryCeilings(f *checkedFile) ceilings {
	sum := ceilings{hostConstant, hostConstant, hostConstant}
	for _, p := range f.pipelines {
		m := planMemory(p)
		sum.Host += m.HostBytes - hostConstant
		sum.Usual += m.UsualBytes - hostConstant
		sum.Together += m.CeilingBytes - hostConstant
	}
	return sum
}

func planMemory(p *checkedPipeline) memoryPlan {
	m := memoryPlan{ConstantBytes: hostConstant}
	frame := largestFrame(p)
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
		m.ReadAheadBytes = plugins.ReadAhead(len(secondaries))
	}
	m.Processes = processes(p)
	m.ProcessBytes = int64(m.Processes) * processBytes
	m.HostBytes = m.BudgetBytes + m.FrameBytes + m.LanesBytes + m.RecoveryBytes + m.ReadAheadBytes + m.ProcessBytes + m.ConstantBytes
	m.addPlugins(p)
	return m
}

// largestFrame is that of the largest record, or of many that fill one.
func largestFrame(p *checkedPipeline) int64 {
	return max(int64(sdk.DefaultLimits.FrameBytes), p.MaxRecordBytes) + frameOverhead
}

// processes counts the plugins that a host runs for a pipeline: a secondary has
// one for its lane and one for recovery.
func processes(p *checkedPipeline) int {
	each := 2
	if p.Role != config.RoleBoth {
		each = 1
	}
	n := 1 + each*len(p.secondaries())
	if p.Role != config.RoleRecovery {
		n++
	}
	return n
}

// text is the host's sum for people.
func (m memoryPlan) text() string {
	var parts []string
	if m.FrameBytes > 0 {
		parts = append(parts, bytesText(m.BudgetBytes)+" of records in flight", "one frame of at most "+bytesText(m.FrameBytes))
	}
	parts = append(parts, m.lanes...)
	if m.RecoveryBytes > 0 {
		parts = append(parts, bytesText(m.RecoveryBytes)+" for recovery (for each sink its budget, or a frame that is larger, and the frame that is being read)",
			bytesText(m.ReadAheadBytes)+" that the raw sink sends ahead of it")
	}
	return fmt.Sprintf("host: %s: %s, %s for the connections to %d plugins, and a constant of %s.",
		bytesText(m.HostBytes), strings.Join(parts, ", "), bytesText(m.ProcessBytes), m.Processes, bytesText(m.ConstantBytes))
}
