package config

import (
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// rawFirst is a pipeline that no rule refuses, with the capabilities of its
// parts.
type rawFirst struct {
	text              string
	source, raw, lake sdk.Capabilities
}

func newRawFirst() *rawFirst {
	return &rawFirst{
		text: `pipeline "p" {
  source "from" {}
  sink "keeper" "db" {
    role    = "primary-raw"
    durable = true
  }
  sink "copier" "lake" {
    role = "secondary"
  }
}`,
		source: sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable},
		raw:    sdk.Capabilities{Durable: true, Replayable: true, OffsetStore: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"table raw"}},
		lake:   sdk.Capabilities{Durable: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"table lake"}},
	}
}

func (r *rawFirst) write(old, new string) { r.text = strings.Replace(r.text, old, new, 1) }

func (r *rawFirst) check() Diagnostics {
	c, diags := Load("in.hcl", []byte(r.text), goldenEnv())
	return append(diags, CheckRoles(c.Pipelines[0], &r.source, []*sdk.Capabilities{&r.raw, &r.lake})...)
}

// Each rule refuses what breaks it, and nothing else does. A message names the
// sink (for R4 the source), what is missing and the way out.
func TestRefusals(t *testing.T) {
	refused(t, map[string]refusal{
		"no rule": {func(*rawFirst) {}, nil},

		"R1: durable is not said": {func(r *rawFirst) { r.write("durable = true", "") }, []string{"durable = true", `"db"`, "Write durable"}},
		"R1: durable is denied":   {func(r *rawFirst) { r.write("durable = true", "durable = false") }, []string{"durable = true", `"db"`, "Write durable"}},
		"R1: not durable":         {func(r *rawFirst) { r.raw.Durable = false }, []string{"capability durable", `"db"`, "Choose another sink"}},
		"R1: not replayable":      {func(r *rawFirst) { r.raw.Replayable = false }, []string{"capability replayable", `"db"`, "Choose another sink"}},
		"R1: no offset store":     {func(r *rawFirst) { r.raw.OffsetStore = false }, []string{"capability offset_store", `"db"`, "Choose another sink"}},
		"R1: tables only":         {func(r *rawFirst) { r.raw.Shapes = []sdk.Shape{sdk.ShapeTable} }, []string{"shape raw", `"db"`, "Choose a sink"}},

		"R2: not durable, unsaid":            {func(r *rawFirst) { r.lake.Durable = false }, []string{"capability durable", `"lake"`, "write durable = false"}},
		"R2: not durable, claimed":           {func(r *rawFirst) { r.lake.Durable = false; r.write(`"secondary"`, "\"secondary\"\ndurable = true\n") }, []string{"capability durable", `"lake"`, "Write durable = false"}},
		"R2: not durable, accepted":          {func(r *rawFirst) { r.lake.Durable = false; r.write(`"secondary"`, "\"secondary\"\ndurable = false\n") }, nil},
		"R2: neither replayable nor a store": {func(r *rawFirst) { r.lake.AppendOnly = true }, nil},

		"R3: nobody keeps the position": {func(r *rawFirst) { r.source.Position = sdk.PositionStore; r.raw.OffsetStore = false }, []string{"capability offset_store", `"db"`, "Choose a"}},
		"R3: raw keeps the position":    {func(r *rawFirst) { r.source.Position = sdk.PositionStore }, nil},

		"R4: not replayable": {func(r *rawFirst) { r.source.Origin = sdk.OriginNonReplayable }, []string{"not replayable", `"from"`, `accept_loss = ["from"]`}},
		"R4: not replayable, accepted": {func(r *rawFirst) {
			r.source.Origin = sdk.OriginNonReplayable
			r.write("source", "accept_loss = [\"from\"]\nsource")
		}, nil},
		"R4: another one is accepted": {func(r *rawFirst) {
			r.source.Origin = sdk.OriginNonReplayable
			r.write("source", "accept_loss = [\"form\"]\nsource")
		}, []string{"not replayable", `"from"`}},
		"R4: resumable": {func(r *rawFirst) { r.source.Origin = sdk.OriginResumable }, nil},

		"lanes: the name is raw's": {func(r *rawFirst) { r.write(`"lake"`, `"raw"`) }, []string{"Reserved name", `"raw"`, "another name"}},
		"lanes: the names are one": {func(r *rawFirst) { r.write(`"lake"`, `"db"`) }, []string{"used twice", "its own name"}},
		"lanes: one target":        {func(r *rawFirst) { r.lake.Targets = r.raw.Targets }, []string{"one target", `"lake"`, "table raw", "of its own"}},
		"lanes: two raws":          {func(r *rawFirst) { r.write(`role = "secondary"`, "role = \"primary-raw\"\ndurable = true\n") }, []string{"Second gating sink", `"db"`, `"secondary"`}},
		"lanes: no raw":            {func(r *rawFirst) { r.write(`role    = "primary-raw"`, "") }, []string{"without primary-raw", `"lake"`, `"primary-raw"`}},
	})
}

// refusal breaks a rule.
type refusal struct {
	breaks func(*rawFirst)
	says   []string // nil: it is allowed
}

func refused(t *testing.T, cases map[string]refusal) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRawFirst()
			c.breaks(r)
			diags := r.check()
			if c.says == nil && len(diags) > 0 || c.says != nil && !diags.HasErrors() {
				t.Fatalf("%+v", diags)
			}
			if c.says != nil && !saidByOne(diags, c.says) {
				t.Errorf("no diagnostic says all of %q: %+v", c.says, diags)
			}
		})
	}
}

// A sink that is durable only after a flush may be a secondary, on purpose.
func TestRefusalsOfLaterFlushes(t *testing.T) {
	refused(t, map[string]refusal{
		"R2: flushes later, unsaid": {func(r *rawFirst) { r.lake.Durable, r.lake.DurableFlush = false, true }, []string{"capability durable", `"lake"`, "is rebuilt", "write durable = false"}},
		"R2: flushes later, claimed": {func(r *rawFirst) {
			r.lake.Durable, r.lake.DurableFlush = false, true
			r.write(`"secondary"`, "\"secondary\"\ndurable = true\n")
		}, []string{"capability durable", `"lake"`, "is rebuilt", "write durable = false"}},
		"R2: flushes later, accepted": {func(r *rawFirst) {
			r.lake.Durable, r.lake.DurableFlush = false, true
			r.write(`"secondary"`, "\"secondary\"\ndurable = false\n")
		}, nil},
		"R1: a gate that flushes later": {func(r *rawFirst) { r.raw.Durable, r.raw.DurableFlush = false, true }, []string{"capability durable", `"db"`, "Choose another sink"}},
	})
}

// Targets are compared by their canonical names, where both sinks say them.
func TestRefusalsOfTargets(t *testing.T) {
	refused(t, map[string]refusal{
		"lanes: one target, spelled differently": {func(r *rawFirst) {
			r.raw.CanonicalTargets, r.lake.CanonicalTargets = []string{"table public.raw at h1", "table public.raw at h2"}, []string{"table public.raw at h2"}
		}, []string{"one target", `"lake"`, "table public.raw at h2", "table raw", "table lake", "of its own"}},
		"lanes: spelled alike, and not one": {func(r *rawFirst) {
			r.lake.Targets = r.raw.Targets
			r.raw.CanonicalTargets, r.lake.CanonicalTargets = []string{"table a.raw"}, []string{"table b.raw"}
		}, nil},
		"lanes: only one says its canonical name": {func(r *rawFirst) {
			r.lake.Targets, r.raw.CanonicalTargets = r.raw.Targets, []string{"table public.raw"}
		}, []string{"one target", `"lake"`, "table raw"}},
	})
}

func saidByOne(diags Diagnostics, want []string) bool {
	for _, d := range diags {
		all := true
		for _, w := range want {
			all = all && strings.Contains(d.Summary+" "+d.Detail, w)
		}
		if all {
			return true
		}
	}
	return false
}
