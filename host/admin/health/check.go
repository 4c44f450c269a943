package health

import (
	"fmt"
	"strings"
	"time"

	"github.com/twg-io/twg/host/admin/view"
)

// check looks at one pipeline.
type check struct {
	p              *view.Pipeline
	l              Limits
	now            time.Time
	reasons, notes []Reason
}

func (c *check) all() {
	if c.p.Ended {
		c.reason(Ended, "", time.Time{}, "the pipeline runs no more")
		return
	}
	if c.p.Stopping {
		c.reason(Stopping, "", time.Time{}, "the pipeline is coming to its end")
		return
	}
	if silent(c.p, c.now) >= SilentAfter {
		c.reason(Unresponsive, "", c.p.Answered, "the pipeline does not say where it stands; what else is said here is older")
	}
	c.reasons = append(c.reasons, stuck(c.p, c.now)...)
	c.plugins()
	if c.p.Role.Ingests() {
		c.source()
		c.sink()
		c.commits()
	}
	c.lanes()
}

func (c *check) reason(code Code, part string, since time.Time, detail string) {
	c.reasons = append(c.reasons, Reason{Code: code, Pipeline: c.p.Name, Part: part, Since: since, Detail: detail})
}

func (c *check) note(code Code, part string, f view.Fault) {
	c.notes = append(c.notes, Reason{Code: code, Pipeline: c.p.Name, Part: part, Since: f.Since, Detail: f.Text})
}

// plugins: one of a secondary is only noted.
func (c *check) plugins() {
	for _, x := range c.p.Plugins {
		var detail string
		switch {
		case x.PID == 0:
			detail = fmt.Sprintf("plugin %s: no process runs", x.Name)
			if x.Last != "" {
				detail += "; the last one: " + x.Last
			}
		case x.Stopped:
			detail = fmt.Sprintf("plugin %s: process %d is stopped by a signal; kill -CONT %d lets it go on", x.Name, x.PID, x.PID)
		default:
			continue
		}
		if c.secondary(x.Part) {
			c.note(PluginDown, x.Part, view.Fault{Text: detail})
			continue
		}
		c.reason(PluginDown, x.Part, time.Time{}, detail)
	}
}

// secondary reports whether a part is a secondary's, which keeps only a host
// that does nothing else from being ready.
func (c *check) secondary(part string) bool {
	_, name, _ := strings.Cut(part, " ")
	for _, l := range c.p.Lanes {
		if l.Name == name {
			return c.p.Role.Ingests()
		}
	}
	return false
}

func (c *check) source() {
	s := &c.p.Source
	part := "source " + s.Name
	switch {
	case s.Failed.Wrong():
		c.reason(SourceFailing, part, s.Failed.Since, s.Failed.Text)
	case s.Unreachable.Wrong() && c.now.Sub(s.Unreachable.Since) >= c.l.UnreachableAfter:
		c.reason(BrokerUnreachable, part, s.Unreachable.Since, s.Unreachable.Text)
	}
	if s.Absent.Wrong() && c.now.Sub(s.Absent.Since) >= c.l.UnreachableAfter {
		c.reason(TopicAbsent, part, s.Absent.Since, s.Absent.Text)
	}
	if len(c.p.Streams) == 0 {
		c.reason(NoAssignment, part, time.Time{}, "the source has been given no stream to read")
	}
}

func (c *check) sink() {
	s := &c.p.Sink
	switch {
	case s.Failed.Wrong():
		c.reason(SinkFailing, s.Name, s.Failed.Since, s.Failed.Text)
	case !s.Open:
		c.reason(SinkFailing, s.Name, time.Time{}, "no session is open yet")
	case s.WritesFail.Wrong() && c.p.Flow != nil && c.p.Flow.WriteFailures >= WritesFailTimes && c.now.Sub(s.WritesFail.Since) >= WritesFailAfter:
		c.reason(SinkFailing, s.Name, s.WritesFail.Since, "a session is open, but no write works: "+s.WritesFail.Text)
	}
}

func (c *check) commits() {
	since := c.p.Gate.Uncommitted()
	if since.IsZero() || c.now.Sub(since) < c.l.MaxCommitAge {
		return
	}
	detail := "what came then is not durable yet: the sink has not confirmed it"
	if g := c.p.Gate; g.CommitFailed.Wrong() {
		detail = "what came then cannot be committed: " + g.CommitFailed.Text
	} else if g.Oldest.IsZero() || g.Durable.Before(g.Oldest) && !g.Durable.IsZero() {
		detail = "what is durable since then is not committed yet"
	}
	c.reason(CommitAge, "", since, detail)
}

// lanes: where recovery is all that a host does, it is what must work.
func (c *check) lanes() {
	for _, l := range c.p.Lanes {
		if l.Failed.Wrong() {
			c.note(SinkFailing, l.Name, l.Failed)
		}
		switch {
		case !l.RecoveryFailed.Wrong():
			if !c.p.Role.Ingests() && !l.Known() {
				c.reason(Starting, l.Name, time.Time{}, "recovery has not looked yet what is to be rebuilt")
			}
		case c.p.Role.Ingests():
			c.note(RecoveryFailing, l.Name, l.RecoveryFailed)
		default:
			c.reason(RecoveryFailing, l.Name, l.RecoveryFailed.Since, l.RecoveryFailed.Text)
		}
	}
}
