package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/twg-io/twg/sdk"
)

// write writes the status for people.
func (f fileStatus) write(w io.Writer) error {
	var b strings.Builder
	for i, p := range f.Pipelines {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.write(&b)
	}
	b.WriteString("\nThe committed position is the source's own and is not asked for; it is never above the first\nhole of the sink that gates.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (p pipelineStatus) write(b *strings.Builder) {
	fmt.Fprintf(b, "Pipeline %q; sink %q gates\n\n", p.Name, p.Gate)
	switch {
	case p.Note != "":
		fmt.Fprintf(b, "  %s\n", p.Note)
		return
	case len(p.Streams) == 0:
		b.WriteString("  no stream\n")
		return
	}
	names := namer{}
	for _, s := range p.Streams {
		names.add(s.streamName)
	}
	p.writeStreams(b, names)
	if len(p.Windows) > 0 {
		b.WriteByte('\n')
		p.writeWindows(b, names)
	}
	if len(p.Streams[0].Lanes) > 0 {
		b.WriteByte('\n')
		p.Backlog.write(b, p.setAside())
	}
}

// setAside are the positions that sinks have refused for good.
func (p pipelineStatus) setAside() (n int64) {
	for _, s := range p.Streams {
		for _, l := range s.Lanes {
			n += l.SetAside
		}
	}
	return n
}

func (p pipelineStatus) writeStreams(b *strings.Builder, names namer) {
	t := table(b, "stream", "sink", "first hole", "floor", "held", "holes", "missing", "set aside", "lost")
	for _, s := range p.Streams {
		r := s.Raw
		t.row(names.text(s.streamName), p.Gate, grouped(r.FirstHole), grouped(r.Floor), grouped(r.Held), strconv.Itoa(r.Holes), grouped(r.Missing), "-", "-")
		for _, l := range s.Lanes {
			t.row("", l.Sink, grouped(l.FirstHole), grouped(l.LiveFloor), grouped(l.Held), strconv.Itoa(l.Holes), grouped(l.Missing), grouped(l.SetAside), grouped(l.Lost))
		}
	}
	t.w.Flush()
}

func (p pipelineStatus) writeWindows(b *strings.Builder, names namer) {
	t := table(b, "window", "sink", "stream", "from", "next", "state", "fence", "lease", "holder")
	for _, w := range p.Windows {
		state := w.State
		if w.RetrySetAside {
			state += ", with rejected"
		}
		t.row(strconv.FormatUint(w.ID, 10), w.Sink, names.text(w.streamName), grouped(w.From), grouped(w.Next), state, strconv.FormatUint(w.Fence, 10), w.lease(), orDash(w.Holder))
	}
	t.w.Flush()
}

// lease says how long a window stays claimed.
func (w windowStatus) lease() string {
	switch {
	case w.State != sdk.WindowClaimed.String():
		return "-"
	case w.LeaseSeconds == nil:
		return "no clock"
	case *w.LeaseSeconds == 0:
		return "expired"
	}
	return time.Duration(*w.LeaseSeconds * float64(time.Second)).Round(time.Second).String()
}

// writeSinks tells each sink's part, and the total of several.
func (g backlog) writeSinks(b *strings.Builder) {
	t := table(b, "sink", "windows", "unclaimed", "to rebuild", "live", "lag", "lost")
	row := func(name string, s sinkBacklog) {
		t.row(name, strconv.Itoa(s.Windows), strconv.Itoa(s.Unclaimed), grouped(s.Positions), grouped(s.Live), grouped(s.Lag), grouped(s.Lost))
	}
	var lag int64
	for _, s := range g.Sinks {
		row(s.Sink, s)
		lag += s.Lag
	}
	if len(g.Sinks) > 1 {
		row("total", sinkBacklog{Windows: g.Windows, Unclaimed: g.Unclaimed, Positions: g.Positions, Live: g.Live, Lag: lag, Lost: g.Lost})
	}
	t.w.Flush()
	b.WriteByte('\n')
}

func (g backlog) write(b *strings.Builder, aside int64) {
	if g.Windows > 0 || g.Lag > 0 || g.Lost > 0 {
		g.writeSinks(b)
	}
	if g.Lost > 0 {
		fmt.Fprintf(b, "LOST: %s were pruned before every secondary had them.\n", groupedCount(g.Lost, "position"))
	}
	if aside > 0 {
		fmt.Fprintf(b, "Set aside: %s that a sink refused for good (twg recover --retry-rejected).\n", groupedCount(aside, "position"))
	}
	if g.Windows == 0 && g.Lag == 0 {
		if g.Lost+aside > 0 {
			b.WriteString("Nothing else is missing.\n")
			return
		}
		b.WriteString("Nothing is missing.\n")
		return
	}
	fmt.Fprintf(b, "Backlog: %s, %s to rebuild.", groupedCount(int64(g.Windows), "window"), groupedCount(g.Positions, "position"))
	if g.Lag > 0 {
		fmt.Fprintf(b, " %q is furthest behind, by %s.", g.Furthest, grouped(g.Lag))
	}
	b.WriteByte('\n')
	if g.Live > 0 {
		paragraph(b, "", fmt.Sprintf("Above the live floors: %s, on their way live, or of streams that no host has any more (twg recover --orphans).", groupedCount(g.Live, "position")))
	}
}

func groupedCount(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// columns is a table with a head.
type columns struct{ w *tabwriter.Writer }

func table(w io.Writer, head ...string) columns {
	t := columns{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	for i, h := range head {
		head[i] = strings.ToUpper(h)
	}
	t.row(head...)
	return t
}

// row adds a row. The last cell is not padded.
func (t columns) row(cells ...string) {
	fmt.Fprintln(t.w, "  "+strings.Join(cells, "\t"))
}
