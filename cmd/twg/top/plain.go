package top

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// Plain writes a line for each pipeline, at once and then every so often, until
// ctx ends; with every = 0 once. An error ends it only at the first look: later
// it is a line.
func Plain(ctx context.Context, w io.Writer, c *Client, every time.Duration) error {
	seen := map[string]*history{}
	for first := true; ; first = false {
		l, err := c.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			fmt.Fprintln(w, clean(err.Error()))
		default:
			for _, line := range lines(&l, seen) {
				fmt.Fprintln(w, line)
			}
		}
		if every == 0 || !pause(ctx, every) {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lines tells of each pipeline in one.
func lines(l *Look, seen map[string]*history) []string {
	var out []string
	for i := range l.Host.Pipelines {
		p := &l.Host.Pipelines[i]
		h := seen[p.Name]
		if h == nil {
			h = &history{}
			seen[p.Name] = h
		}
		h.see(l.Host.Started, p)
		out = append(out, clean(line(p, &l.Ready, h, l.Host.At)))
	}
	if out == nil {
		return []string{"the plugins are being started"}
	}
	return out
}

func line(p *view.Pipeline, v *health.Verdict, h *history, now time.Time) string {
	parts := []string{state(p.Name, v)}
	if p.Role.Ingests() {
		records, seconds := lag(p.Streams)
		parts = append(parts, fmt.Sprintf("%s records, %s records/s, %s/s", count(p.Records), count(int64(last(h.recordRates))), size(last(h.byteRates))),
			fmt.Sprintf("lag %s (%s)", records, seconds),
			fmt.Sprintf("in flight %s, oldest %s", size(float64(p.Gate.InFlightBytes)), age(now, p.Gate.Oldest)))
	}
	if f := p.Flow; f != nil {
		parts = append(parts, flowLine(f))
	}
	text := p.Name + ": " + strings.Join(parts, ", ")
	for i := range p.Lanes {
		text += "; " + p.Lanes[i].Name + ": " + strings.Join(laneParts(&p.Lanes[i]), ", ")
	}
	return text
}

// state is ready, or the reasons why it is not.
func state(pipeline string, v *health.Verdict) string {
	var codes []string
	for _, r := range v.Reasons {
		if r.Pipeline == pipeline {
			codes = append(codes, string(r.Code))
		}
	}
	if codes == nil {
		return "ready"
	}
	return "NOT READY (" + strings.Join(codes, ", ") + ")"
}

func flowLine(f *view.Flow) string {
	text := fmt.Sprintf("budget %.0f %% of %s", 100*f.Saturation, size(float64(inForce(f))))
	if f.ResidentBytes > 0 && f.MemoryLimit > 0 {
		text += ", memory " + memoryText(f)
	}
	if f.Backpressure != "" {
		text += ", " + f.Backpressure
	}
	for _, p := range pressed(f) {
		text += ", " + p
	}
	if f.Stuck != "" && f.Stuck != "none" {
		text += ", STUCK: " + f.Stuck
	}
	if f.SinkBottleneck {
		text += ", the sink is the bottleneck"
	}
	return text
}

// laneParts tells how a secondary does, without what is zero.
func laneParts(l *view.Lane) []string {
	var parts []string
	if l.Live {
		if !l.Open {
			parts = append(parts, "NO SESSION")
		}
		parts = append(parts, count(l.Delivered)+" live")
	}
	say := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, count(n)+" "+what)
		}
	}
	say(l.ShedRows, "shed")
	say(l.SetAside, "set aside")
	say(l.GivenUp, "given up")
	say(l.Rebuilt, "rebuilt")
	if l.BacklogPositions > 0 {
		parts = append(parts, fmt.Sprintf("%s to rebuild in %s windows, %s unclaimed", count(l.BacklogPositions), count(l.BacklogWindows), count(l.Unclaimed)))
	}
	say(l.Unrecoverable, "LOST")
	if l.Recovers && !l.Known() {
		parts = append(parts, "backlog not known yet")
	}
	if parts == nil {
		return []string{"nothing to rebuild"}
	}
	return parts
}
