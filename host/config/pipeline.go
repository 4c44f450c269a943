package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/twg-io/twg/sdk"
)

func (d *decoder) pipeline(b *hclsyntax.Block) *Pipeline {
	p := &Pipeline{Name: d.labels(b, "name")[0], Topics: map[string]sdk.Granularity{}, topicPlaces: map[string]place{}}
	p.place = place{doc: d.doc, def: b.DefRange()}
	p.attrs = decodeAttributes(d, b.Body, "in a pipeline block", pipelineAttributes, p, nil)
	for _, inner := range b.Body.Blocks {
		switch inner.Type {
		case "source":
			d.addSource(p, inner)
		case "sink":
			d.addSink(p, inner)
		case "topic":
			d.addTopic(p, inner)
		case "recovery":
			d.addRecovery(p, inner)
		case "flow":
			d.addFlow(p, inner)
		default:
			d.unknownBlock(inner, "in a pipeline block", []string{"source", "sink", "topic", "recovery", "flow"})
		}
	}
	if p.Recovery.doc == nil { // no block: its defaults
		decodeAttributes(d, &hclsyntax.Body{}, "", recoveryAttributes, &p.Recovery, nil)
	}
	if p.Flow.doc == nil {
		decodeAttributes(d, &hclsyntax.Body{}, "", flowAttributes, &p.Flow, nil)
	}
	d.topology(p)
	return p
}

func (d *decoder) addSource(p *Pipeline, b *hclsyntax.Block) {
	s := &Source{Plugin: d.labels(b, "plugin")[0]}
	s.place = place{doc: d.doc, def: b.DefRange()}
	s.attrs = decodeAttributes(d, b.Body, "in a source block", sourceAttributes, s, inConfig(b))
	s.Settings = d.settings(b)
	if p.Source != nil {
		d.problem(b.DefRange(), "Second source", "A pipeline has one source. Write a second pipeline block in the same file for the other.")
		return
	}
	p.Source = s
}

func (d *decoder) addSink(p *Pipeline, b *hclsyntax.Block) {
	l := d.labels(b, "plugin", "name")
	s := &Sink{Plugin: l[0], Name: l[1]}
	s.place = place{doc: d.doc, def: b.DefRange()}
	s.attrs = decodeAttributes(d, b.Body, "in a sink block", sinkAttributes, s, inConfig(b))
	s.Settings = d.settings(b)
	if s.Name != "" && slices.ContainsFunc(p.Sinks, func(o *Sink) bool { return o.Name == s.Name }) {
		d.problem(b.DefRange(), "Sink name used twice", "Give each sink of a pipeline its own name: coverage is kept under it.")
	}
	p.Sinks = append(p.Sinks, s)
}

func (d *decoder) addTopic(p *Pipeline, b *hclsyntax.Block) {
	name, g := d.labels(b, "topic")[0], p.Granularity
	decodeAttributes(d, b.Body, "in a topic block", topicAttributes, &g, nil)
	if _, twice := p.Topics[name]; twice {
		d.problem(b.DefRange(), "Topic named twice", "Put what is said about a topic into one block.")
	}
	for _, inner := range b.Body.Blocks {
		d.unknownBlock(inner, "in a topic block", nil)
	}
	p.Topics[name], p.topicPlaces[name] = g, place{doc: d.doc, def: b.DefRange()}
}

func (d *decoder) addRecovery(p *Pipeline, b *hclsyntax.Block) {
	d.labels(b)
	if p.Recovery.doc != nil {
		d.problem(b.DefRange(), "Second recovery block", "Put what is said about recovery into one block.")
		return
	}
	p.Recovery.place = place{doc: d.doc, def: b.DefRange()}
	p.Recovery.attrs = decodeAttributes(d, b.Body, "in a recovery block", recoveryAttributes, &p.Recovery, nil)
	for _, inner := range b.Body.Blocks {
		d.unknownBlock(inner, "in a recovery block", nil)
	}
}

// inConfig explains an attribute that was probably meant for the plugin.
func inConfig(b *hclsyntax.Block) func(string) string {
	return func(name string) string {
		if name == "config" {
			return "config is a block: write config { ... }, without an equals sign."
		}
		if b.Type == "sink" && slices.ContainsFunc(sinkAttributes, func(a attribute[*Sink]) bool { return editDistance(name, a.name) < 3 }) {
			return ""
		}
		return "The plugin's own settings stand inside config { ... }."
	}
}

// settings takes a block's config block.
func (d *decoder) settings(b *hclsyntax.Block) *Settings {
	s := &Settings{doc: d.doc, ctx: d.context(), def: b.DefRange(), body: &hclsyntax.Body{}}
	seen := false
	for _, inner := range b.Body.Blocks {
		switch {
		case inner.Type != "config":
			d.unknownBlock(inner, fmt.Sprintf("in a %s block", b.Type), []string{"config"})
		case seen:
			d.problem(inner.TypeRange, "Second config block", "Put all settings of the plugin into one config block.")
		default:
			seen = true
			d.labels(inner)
			s.body, s.def = inner.Body, inner.TypeRange
		}
	}
	return s
}
