package main

import (
	"fmt"
	"io"
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
		b.WriteByte('\n')
		paragraph(&b, "", togetherText(fmt.Sprintf("Memory of all %d pipelines together", len(p.Pipelines)), p.Memory.Usual, p.Memory.Together))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p pipelinePlan) write(b *strings.Builder, file string) {
	fmt.Fprintf(b, "Pipeline %q (%s)\n", p.Name, file)
	heading(b, "Parts")
	if p.Source != nil {
		p.Source.writeSource(b)
	} else {
		b.WriteString("  source  not touched by this host\n")
	}
	for _, s := range append([]pluginPlan{p.Sink}, p.Secondaries...) {
		s.writeSink(b)
	}
	heading(b, "Guarantee")
	for _, g := range p.Guarantee {
		paragraph(b, "  ", g)
	}
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
	heading(b, "Memory")
	p.Memory.write(b)
}

func (m memoryPlan) write(b *strings.Builder) {
	paragraph(b, "  ", m.text())
	for _, x := range m.Plugins {
		paragraph(b, "  ", x.text())
	}
	paragraph(b, "  ", togetherText("together", m.UsualBytes, m.CeilingBytes))
}

func heading(b *strings.Builder, text string) { fmt.Fprintf(b, "\n%s\n", text) }

func (p pluginPlan) writeSource(b *strings.Builder) {
	fmt.Fprintf(b, "  source  %s\n", p.program())
	fmt.Fprintf(b, "          position kept by %s; origin %s\n", keeper(p.Position), strings.ReplaceAll(p.Origin, "_", "-"))
}

func (p pluginPlan) writeSink(b *strings.Builder) {
	fmt.Fprintf(b, "  sink    %s, named %q, %s\n", p.program(), p.Name, p.Role)
	switch {
	case slices.Contains(p.Capabilities, "durable"):
	case slices.Contains(p.Capabilities, "durable_flush"):
		b.WriteString("          not durable before it has flushed\n")
	default:
		b.WriteString("          not durable\n")
	}
	if len(p.Capabilities) > 0 {
		fmt.Fprintf(b, "          %s\n", strings.Join(p.Capabilities, ", "))
	}
	for _, t := range p.Targets {
		fmt.Fprintf(b, "          writes to %s\n", t)
	}
	if p.BufferBytes > 0 {
		fmt.Fprintf(b, "          buffer of %s; what it refuses for now is sent %s, then left to recovery\n", bytesText(p.BufferBytes), times(p.Attempts))
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

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
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
