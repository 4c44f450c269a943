package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/twg-io/twg/host/admin/view"
)

var (
	bold = lipgloss.NewStyle().Bold(true)
	good = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	bad  = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
	pale = lipgloss.NewStyle().Faint(true)
)

// View implements tea.Model.
func (m *Model) View() string {
	all := m.lines()
	first := max(min(m.top, len(all)-m.room()), 0)
	shown := all[first:min(first+m.room(), len(all))]
	foot := "q ends"
	if hidden := len(all) - len(shown); hidden > 0 {
		foot += fmt.Sprintf(" · ↑ ↓ move · %d more lines", hidden)
	}
	out := append([]string{m.head()}, shown...)
	out = append(out, pale.Render(foot))
	for i, l := range out {
		out[i] = lipgloss.NewStyle().MaxWidth(m.width).Render(l)
	}
	return strings.Join(out, "\n")
}

func (m *Model) head() string {
	text := bold.Render("twg top") + " · " + clean(m.address)
	if m.known {
		h := &m.now.Host
		text += fmt.Sprintf(" · %s · up %s", clean(h.Version), age(h.At, h.Started))
	}
	switch {
	case m.err != nil:
		return text + " · " + bad.Render("NO ANSWER")
	case !m.known:
		return text + " · asking"
	case m.now.Ready.OK:
		return text + " · " + good.Render("ready")
	}
	return text + " · " + bad.Render("NOT READY")
}

// lines is all there is to show.
func (m *Model) lines() []string {
	var out []string
	if m.err != nil {
		out = append(out, fold("", clean(m.err.Error()), m.width)...)
		if m.known {
			out = append(out, "what follows is old:")
		}
	}
	for _, r := range m.now.Ready.Reasons {
		out = append(out, fold(bad.Render("✗ "+clean(strings.Join(words(r.Pipeline, string(r.Code), r.Part), " ")))+": ", clean(r.Detail), m.width)...)
	}
	for _, r := range m.now.Ready.Notes {
		out = append(out, fold(pale.Render("· "+clean(strings.Join(words(r.Pipeline, string(r.Code), r.Part), " ")))+": ", clean(r.Detail), m.width)...)
	}
	for i := range m.now.Host.Pipelines {
		out = append(out, "")
		for _, l := range m.pipeline(&m.now.Host.Pipelines[i]) {
			out = append(out, wrap(l, m.width)...)
		}
	}
	return out
}

func words(in ...string) []string {
	return slices.DeleteFunc(in, func(s string) bool { return s == "" })
}

func (m *Model) pipeline(p *view.Pipeline) []string {
	out := []string{bold.Render(clean(p.Name)) + " (" + string(p.Role) + ")"}
	if p.Role.Ingests() {
		out = append(out, m.rates(p), m.gate(p))
	}
	if f := p.Flow; f != nil {
		out = append(append(append(out, budget(f)), memory(f)...), machine(f))
	}
	if p.Role.Ingests() {
		out = append(out, sink(&p.Sink))
	}
	for i := range p.Lanes {
		l := &p.Lanes[i]
		out = append(out, named("lane", clean(l.Name)+" · "+strings.Join(append(laneParts(l), answers(l)...), " · ")))
	}
	out = append(out, plugins(p.Plugins)...)
	return append(out, streams(p.Streams)...)
}

func named(name, text string) string { return fmt.Sprintf("  %-8s %s", name, text) }

// wrap breaks a line that is too long where it has a dot, so that its end is
// not cut off.
func wrap(line string, width int) []string {
	const dot, indent = " · ", "           "
	var out []string
	now := ""
	for i, part := range strings.Split(line, dot) {
		switch {
		case i == 0:
			now = part
		case lipgloss.Width(now+dot+part) <= width:
			now += dot + part
		default:
			out, now = append(out, now), indent+part
		}
	}
	return append(out, now)
}

// fold breaks a text at its spaces where it is too long: the end of an error is
// what says most. A word that is longer than a line is cut off.
func fold(head, text string, width int) []string {
	const indent = "  "
	var out []string
	now, empty := head, true
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case empty:
			now += word
		case lipgloss.Width(now)+1+lipgloss.Width(word) <= width:
			now += " " + word
		default:
			out, now = append(out, now), indent+word
		}
		empty = false
	}
	return append(out, now)
}

// sparkColumns is the width of a sparkline.
const sparkColumns = 20

func (m *Model) rates(p *view.Pipeline) string {
	h := m.seen[p.Name]
	records, seconds := lag(p.Streams)
	return named("rates", fmt.Sprintf("%s records/s %s · %s/s %s · %s records · lag %s (%s)",
		count(int64(last(h.recordRates))), sparkline(h.recordRates, sparkColumns), size(last(h.byteRates)), sparkline(h.byteRates, sparkColumns),
		count(p.Records), records, seconds))
}

func (m *Model) gate(p *view.Pipeline) string {
	g, now := &p.Gate, m.now.Host.At
	text := fmt.Sprintf("in flight %s in %s batches · oldest %s · receipt to commit %s · %s commits",
		size(float64(g.InFlightBytes)), count(g.InFlightBatches), age(now, g.Oldest), age(now, g.Durable), count(g.Commits))
	if g.CommitFailures > 0 {
		text += ", " + count(g.CommitFailures) + " failed"
	}
	return named("gate", text)
}

// barColumns is the width of a bar.
const barColumns = 20

// bar shows a part from 0 to 1.
func bar(part float64) string {
	full := int(min(max(part, 0), 1) * barColumns)
	return "[" + strings.Repeat("█", full) + strings.Repeat("·", barColumns-full) + "]"
}

// budget is about what is in force: the bar of a host that warms up, or is under
// pressure, is full before the whole budget is.
func budget(f *view.Flow) string {
	text := fmt.Sprintf("%s %.0f %% of %s", bar(f.Saturation), 100*f.Saturation, size(float64(inForce(f))))
	if inForce(f) < f.BudgetBytes {
		text += " in force · budget " + size(float64(f.BudgetBytes))
	}
	text += " · used " + size(float64(f.Used))
	if f.Granted > 0 {
		text += " · granted " + size(float64(f.Granted))
	}
	if f.Expansion > 0 {
		text += fmt.Sprintf(" · expansion %.1f", f.Expansion)
	}
	if f.WarmUp {
		text += " · warming up"
	}
	return named("budget", text)
}

// inForce is what Saturation is a part of.
func inForce(f *view.Flow) int64 {
	if f.LimitBytes > 0 {
		return f.LimitBytes
	}
	return f.BudgetBytes
}

// memory is that of host and plugins against their limit.
func memory(f *view.Flow) []string {
	switch {
	case f.ResidentBytes <= 0:
		return nil
	case f.MemoryLimit <= 0:
		return []string{named("memory", size(float64(f.ResidentBytes))+" · no limit is known")}
	}
	text := bar(ratio(f)) + " " + memoryText(f)
	if f.MemoryIgnored {
		text += " · counts for nothing: hardly anything is held"
	}
	return []string{named("memory", text)}
}

func ratio(f *view.Flow) float64 { return float64(f.ResidentBytes) / float64(f.MemoryLimit) }

func memoryText(f *view.Flow) string {
	return fmt.Sprintf("%.0f %% of %s", 100*ratio(f), size(float64(f.MemoryLimit)))
}

// pressed says what else the machine sees and does.
func pressed(f *view.Flow) []string {
	var parts []string
	if f.Fill >= .01 {
		parts = append(parts, fmt.Sprintf("%.0f %% waits for the sink", 100*f.Fill))
	}
	if f.WriteFailures > 0 {
		parts = append(parts, count(int64(f.WriteFailures))+" writes failed in a row")
	}
	if f.Paused {
		parts = append(parts, "SOURCE PAUSED")
	}
	return parts
}

// machine shows all states with the one that is marked.
func machine(f *view.Flow) string {
	if f.Backpressure == "" {
		return named("machine", "not known")
	}
	var parts []string
	for _, s := range view.BackpressureStates {
		if s == f.Backpressure {
			s = bold.Render("[" + strings.ToUpper(s) + "]")
		}
		parts = append(parts, s)
	}
	text := strings.Join(append([]string{strings.Join(parts, " ")}, pressed(f)...), " · ") + " · stuck: " + f.Stuck
	if f.SinkBottleneck {
		text += " · " + bad.Render("the sink is the bottleneck")
	}
	return named("machine", text)
}

func sink(s *view.Sink) string {
	open := "open"
	if !s.Open {
		open = bad.Render("NO SESSION")
	}
	return named("sink", fmt.Sprintf("%s · %s · half of the answers %s, 99 %% %s · %s failed sessions",
		clean(s.Name), open, quantile(&s.Latency, .5), quantile(&s.Latency, .99), count(s.Restarts)))
}

// answers is how fast a secondary answers live, if it has.
func answers(l *view.Lane) []string {
	if half := quantile(&l.Latency, .5); half != "-" {
		return []string{fmt.Sprintf("half of the answers %s, 99 %% %s", half, quantile(&l.Latency, .99))}
	}
	return nil
}

func plugins(in []view.Plugin) []string {
	var parts []string
	for _, p := range in {
		text := fmt.Sprintf("%s (%s) %d", clean(p.Part), clean(p.Name), p.PID)
		switch {
		case p.PID == 0:
			text = fmt.Sprintf("%s (%s) %s", clean(p.Part), clean(p.Name), bad.Render("DOWN"))
		case p.Stopped:
			text += " " + bad.Render("STOPPED")
		}
		if p.Restarts > 0 {
			text += fmt.Sprintf(", %s restarts", count(p.Restarts))
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return nil
	}
	return []string{named("plugins", strings.Join(parts, " · "))}
}

// streams lists them with the greatest lag first.
func streams(in []view.Stream) []string {
	if len(in) == 0 {
		return nil
	}
	out := []string{pale.Render(fmt.Sprintf("  %-30s %14s %14s %14s %12s %9s", "stream", "committed", "durable", "end", "lag", "age"))}
	list := slices.SortedStableFunc(slices.Values(in), func(a, b view.Stream) int { return cmp.Compare(b.Lag, a.Lag) })
	for _, s := range list {
		behind, old := "unknown", "unknown"
		if s.Lag >= 0 {
			behind, old = lag([]view.Stream{s})
		}
		out = append(out, fmt.Sprintf("  %-30s %14s %14s %14s %12s %9s", fmt.Sprintf("%s/%d", clean(s.Topic), s.Partition),
			position(s.Committed), position(s.Frontier), position(s.End), behind, old))
	}
	return out
}
