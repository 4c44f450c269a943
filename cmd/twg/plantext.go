package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// write writes the plan for people.
func (p plan) write(w io.Writer) error {
	var b strings.Builder
	for i, x := range p.Pipelines {
		if i > 0 {
			b.WriteByte('\n')
		}
		x.write(&b, p.File)
	}
	if len(p.Pipelines) > 1 {
		fmt.Fprintf(&b, "\nMemory of all %d pipelines together: at most %s.\n", len(p.Pipelines), bytesText(p.CeilingBytes))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p pipelinePlan) write(b *strings.Builder, file string) {
	fmt.Fprintf(b, "Pipeline %q (%s)\n", p.Name, file)
	heading(b, "Parts")
	p.Source.writeSource(b)
	p.Sink.writeSink(b)
	heading(b, "Guarantee")
	p.writeGuarantee(b)
	heading(b, "What it costs when")
	for _, c := range p.Costs {
		paragraph(b, "  ", c.When+": "+c.Cost)
	}
	heading(b, "Given up on purpose")
	if len(p.OptOuts) == 0 {
		b.WriteString("  nothing\n")
	}
	for _, o := range p.OptOuts {
		paragraph(b, "  ", o)
	}
	heading(b, "Memory of the host")
	m := p.Memory
	paragraph(b, "  ", fmt.Sprintf("at most %s: %s of records in flight, one frame of at most %s, and a constant of %s. Plugins have memory of their own.",
		bytesText(m.CeilingBytes), bytesText(m.BudgetBytes), bytesText(m.FrameBytes), bytesText(m.ConstantBytes)))
}

func heading(b *strings.Builder, text string) { fmt.Fprintf(b, "\n%s\n", text) }

func (p pluginPlan) writeSource(b *strings.Builder) {
	fmt.Fprintf(b, "  source  %s\n", p.program())
	fmt.Fprintf(b, "          position kept by %s; origin %s\n", keeper(p.Position), strings.ReplaceAll(p.Origin, "_", "-"))
}

func (p pluginPlan) writeSink(b *strings.Builder) {
	fmt.Fprintf(b, "  sink    %s, named %q, %s\n", p.program(), p.Name, p.Role)
	fmt.Fprintf(b, "          %s\n", strings.Join(p.Capabilities, ", "))
	for _, t := range p.Targets {
		fmt.Fprintf(b, "          writes to %s\n", t)
	}
}

func (p pluginPlan) program() string {
	hash := p.SHA256
	if len(hash) > 12 {
		hash = hash[:12]
	}
	return fmt.Sprintf("%s %s (%s, sha256 %s)", p.Plugin, p.Version, p.File, hash)
}

func keeper(position string) string {
	if position == "store" {
		return "the sink's offset store"
	}
	return "the source's own server"
}

func (p pipelinePlan) writeGuarantee(b *strings.Builder) {
	paragraph(b, "  ", fmt.Sprintf("A source position is committed only after the sink %q has confirmed that everything below it is on stable storage. It may lag; it never leads.", p.Gate))
	paragraph(b, "  ", granularityText(p.Granularity))
	for _, topic := range slices.Sorted(maps.Keys(p.Topics)) {
		paragraph(b, "  ", fmt.Sprintf("Topic %q has granularity %s.", topic, p.Topics[topic]))
	}
	if slices.Contains(p.Sink.Capabilities, "holds_until_close") {
		paragraph(b, "  ", fmt.Sprintf("The sink confirms when a file is complete; the host asks for it after %s at the latest.", p.MaxAckDelay))
	}
	if slices.Contains(p.Sink.Capabilities, "append_only") {
		paragraph(b, "  ", "The target is append-only: a record that is delivered again is there twice.")
	}
	if p.Role == "ingest" {
		paragraph(b, "  ", `role = "ingest": a host that does recovery is needed elsewhere once there are secondary sinks.`)
	}
}

func granularityText(g string) string {
	if g == "record" {
		return "Granularity record: the position moves with every durable record."
	}
	return "Granularity batch: the position moves once a whole batch is durable."
}

// paragraph writes text in lines of at most 96 characters.
func paragraph(b *strings.Builder, indent, text string) {
	line := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > 96:
			b.WriteString(line + "\n")
			line = indent + "    " + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
}
