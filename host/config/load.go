package config

import (
	"fmt"
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const (
	// maxFile bounds a pipeline file, in bytes.
	maxFile = 256 << 10
	// maxNesting bounds what the parser, which recurses, has on its stack.
	maxNesting = 200
	// maxSyntax bounds the problems of a text that is no pipeline file.
	maxSyntax = 50
)

// Load reads one pipeline file's text. The Config is never nil and holds what
// could be understood; it may be run only if the diagnostics have no error.
func Load(filename string, src []byte, env Env) (*Config, Diagnostics) {
	body, d := parse(filename, src)
	c := &Config{Filename: filename, Secrets: d.doc.secrets}
	if body == nil {
		return c, d.diags
	}
	d.functions, d.mode = functions(env, d.doc.secrets), env.Mode
	d.file(body, c)
	d.diags = append(d.diags, CheckDelays(c)...)
	d.diags.Sort()
	return c, d.diags
}

// decoder collects what is wrong with one file.
type decoder struct {
	doc       *document
	diags     Diagnostics
	functions map[string]function.Function
	mode      func(path string) (fs.FileMode, error)
	locals    map[string]cty.Value
}

func (d *decoder) problem(r hcl.Range, summary, detail string) {
	d.diags = append(d.diags, d.doc.errorAt(r, summary, detail))
}

// file decodes the top level.
func (d *decoder) file(body *hclsyntax.Body, c *Config) {
	d.readLocals(body)
	c.top = place{doc: d.doc, attrs: decodeAttributes(d, body, "at the top of the file", fileAttributes, c, nil)}
	names := map[string]bool{}
	for _, b := range body.Blocks {
		switch b.Type {
		case "locals":
		case "admin":
			d.addAdmin(c, b)
		case "pipeline":
			p := d.pipeline(b)
			if names[p.Name] {
				d.problem(b.DefRange(), "Pipeline name used twice", fmt.Sprintf("There is a pipeline %q above. Give each pipeline of a file its own name.", p.Name))
			}
			names[p.Name] = true
			c.Pipelines = append(c.Pipelines, p)
		default:
			d.unknownBlock(b, "at the top of a file", []string{"pipeline", "locals", "admin"})
		}
	}
	if len(c.Pipelines) == 0 && len(d.diags) == 0 {
		d.problem(body.EndRange, "No pipeline", `A file needs at least one block: pipeline "name" { source ... sink ... }.`)
	}
}

func (d *decoder) unknownBlock(b *hclsyntax.Block, where string, known []string) {
	d.problem(b.TypeRange, "Unknown block", fmt.Sprintf("There is no block %q %s. %s", b.Type, where, didYouMean(b.Type, known)))
}

// labels checks that the block has exactly the labels named, and returns them
// padded with empty ones.
func (d *decoder) labels(b *hclsyntax.Block, want ...string) []string {
	out := make([]string, len(want))
	copy(out, b.Labels)
	if len(b.Labels) != len(want) {
		example := b.Type
		for _, w := range want {
			example += fmt.Sprintf(" %q", w)
		}
		d.problem(b.DefRange(), "Wrong number of labels", fmt.Sprintf("Write %s { ... }.", example))
		return out
	}
	for i, l := range out {
		if l == "" {
			d.problem(b.LabelRanges[i], "Empty label", fmt.Sprintf("Give the %s block a %s.", b.Type, want[i]))
		}
	}
	return out
}

// CheckSyntax reports what keeps a text from being read at all. It looks
// neither at names nor at values.
func CheckSyntax(filename string, src []byte) Diagnostics {
	_, d := parse(filename, src)
	return d.diags
}

// parse reads a text's form. The body is nil if it has errors: what a broken
// file still yields would be followed by problems that are not there.
func parse(filename string, src []byte) (*hclsyntax.Body, *decoder) {
	start := hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
	if len(src) > maxFile {
		d := &decoder{doc: newDocument(filename, nil)}
		d.problem(start, "File too large",
			fmt.Sprintf("A pipeline file may have at most %d bytes. Split it: twg validate takes several files.", maxFile))
		return nil, d
	}
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	d := &decoder{doc: newDocument(filename, src, tokens...)}
	if nesting(tokens) > maxNesting {
		d.problem(start, "File nested too deeply", fmt.Sprintf("Brackets may be nested at most %d deep.", maxNesting))
		return nil, d
	}
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	d.syntax(diags)
	if diags.HasErrors() {
		return nil, d
	}
	return file.Body.(*hclsyntax.Body), d
}
