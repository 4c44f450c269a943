package config

import "fmt"

// CheckDelays warns of pipelines that wait longer for their sink, on purpose,
// than the file allows before it is called stuck or not ready: a sink that
// confirms when it closes a file may say nothing for max_ack_delay.
func CheckDelays(c *Config) Diagnostics {
	var diags Diagnostics
	for _, p := range c.Pipelines {
		if p.Role == RoleRecovery || p.MaxAckDelay <= 0 {
			continue
		}
		if w := p.Flow.StuckWarn; w > 0 && p.MaxAckDelay >= w {
			diags = append(diags, p.doc.warningAt(p.at("max_ack_delay"), "Sink slower than what counts as stuck", fmt.Sprintf(
				"A sink is asked for its confirmation after %s (max_ack_delay) only, and a standstill of %s (stuck_warn) is reported as stuck while memory is high; after %s (stuck_exit) the host ends itself. Lower the one, or raise the others in the flow block.",
				p.MaxAckDelay, w, p.Flow.StuckExit)))
		}
		if a := c.Admin; a != nil && a.MaxCommitAge > 0 && p.MaxAckDelay >= a.MaxCommitAge {
			diags = append(diags, a.doc.warningAt(a.at("max_commit_age"), "Never ready", fmt.Sprintf(
				"Pipeline %q asks its sink for a confirmation after %s (max_ack_delay) only; /ready fails once a record has waited for %s (max_commit_age). Raise max_commit_age above it.",
				p.Name, p.MaxAckDelay, a.MaxCommitAge)))
		}
	}
	return diags
}

// CheckMemory warns of a memory_limit below what host and plugins usually take
// with full buffers: the pipelines would be under pressure for good. usual is in
// bytes; text writes bytes for people.
func CheckMemory(c *Config, usual int64, text func(int64) string) Diagnostics {
	if c.MemoryLimit <= 0 || c.MemoryLimit >= usual || c.top.doc == nil {
		return nil
	}
	return Diagnostics{c.top.doc.warningAt(c.top.at("memory_limit"), "memory_limit below what is planned", fmt.Sprintf(
		"Host and plugins take up to %s when their buffers are full, without extremes (twg plan says of what); with %s they are paused long before that. Raise memory_limit, or lower memory_budget, buffer or what the plugins hold.",
		text(usual), text(c.MemoryLimit)))}
}
