package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/host/pipeline"
)

// Progress is shown this often on a terminal and elsewhere.
const (
	refreshEvery = 250 * time.Millisecond
	lineEvery    = 5 * time.Second
)

// progress shows where running pipelines stand.
type progress struct {
	screen  *screen
	runs    []*pipelineRun
	secrets *config.Secrets
	// log takes the lines where everything on stderr is to be JSON; else nil.
	log  *slog.Logger
	last []mark
}

// mark is where a pipeline stood at the last look.
type mark struct {
	at             time.Time
	records, bytes int64
}

// run shows progress until ctx ends, and once more then.
func (p *progress) run(ctx context.Context) {
	every := lineEvery
	if p.screen.terminal && p.log == nil {
		every = refreshEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	p.last = make([]mark, len(p.runs))
	for i := range p.last {
		p.last[i].at = time.Now()
	}
	for {
		select {
		case <-tick.C:
			p.show()
		case <-ctx.Done():
			p.show()
			p.screen.keep()
			return
		}
	}
}

func (p *progress) show() {
	lines := make([]string, len(p.runs))
	for i, r := range p.runs {
		line := progressLine(r.Name, r.pipe.Status(), &p.last[i], time.Now(), r.source != nil)
		lines[i] = p.secrets.Hide(line) // a topic's name may be one
	}
	switch {
	case p.log != nil:
		for _, line := range lines {
			p.log.Info(line)
		}
		return
	case p.screen.terminal:
		p.screen.show(strings.Join(lines, " | "))
		return
	}
	fmt.Fprintln(p.screen, strings.Join(lines, "\n"))
}

// progressLine tells records, rates since the last look, lag and position, and
// how each secondary does. A host without a source has only the latter.
func progressLine(name string, s pipeline.Status, last *mark, now time.Time, source bool) string {
	var parts []string
	if source {
		seconds := max(now.Sub(last.at).Seconds(), 1e-3)
		parts = append(parts, fmt.Sprintf("%s records, %s records/s, %.2f MB/s, lag %s, %s",
			grouped(s.Records), grouped(int64(float64(s.Records-last.records)/seconds)),
			float64(s.Bytes-last.bytes)/seconds/1e6, lagText(s.Streams), committedText(s.Streams)))
	}
	if f := flowText(s.Flow); source && f != "" {
		parts = append(parts, f)
	}
	for _, lane := range s.Secondaries {
		parts = append(parts, laneLine(lane))
	}
	*last = mark{now, s.Records, s.Bytes}
	return name + ": " + strings.Join(parts, "; ")
}

// flowText says what holds the source back, if anything does.
func flowText(f pipeline.Flow) string {
	var parts []string
	if f.State != flow.Normal {
		parts = append(parts, f.State.String())
	}
	if f.WriteFailures > 0 {
		parts = append(parts, grouped(int64(f.WriteFailures))+" writes failed in a row")
	}
	if f.Paused {
		parts = append(parts, "source paused")
	}
	if f.SinkIsBottleneck {
		parts = append(parts, "the sink is the bottleneck")
	}
	if f.Stuck != flow.Moving {
		parts = append(parts, "stuck for "+f.Stalled.String())
	}
	return strings.Join(parts, ", ")
}

func lagText(streams []pipeline.StreamStatus) string {
	var lag int64
	if len(streams) == 0 {
		return "unknown"
	}
	for _, s := range streams {
		if s.End < 0 {
			return "unknown"
		}
		lag += s.Lag()
	}
	return grouped(lag)
}

// shownStreams bounds the line; the rest is summed up.
const shownStreams = 3

func committedText(streams []pipeline.StreamStatus) string {
	if len(streams) == 0 {
		return "no stream assigned"
	}
	var parts []string
	for i, s := range streams {
		if i == shownStreams {
			parts = append(parts, fmt.Sprintf("and %d more streams", len(streams)-i))
			break
		}
		position := "-"
		if s.Committed >= 0 {
			position = strconv.FormatInt(s.Committed, 10)
		}
		parts = append(parts, fmt.Sprintf("%s/%d=%s", s.Stream.Topic, s.Stream.Partition, position))
	}
	return "committed " + strings.Join(parts, " ")
}

// grouped writes a number with groups of three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
