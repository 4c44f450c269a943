package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// checkedFile is a pipeline file with what its plugins say about it. validate,
// plan and run are prefixes of one path, and this is the part they share.
type checkedFile struct {
	config    *config.Config
	pipelines []*checkedPipeline
	diags     config.Diagnostics
	// missing counts the plugins that could not be found or started.
	missing int
}

// checkedPlugin is a plugin that was asked about its settings.
type checkedPlugin struct {
	// name is the file's name without its prefix, which is what the block says.
	name        string
	process     *process
	description sdk.Description
	settings    sdk.Settings
	caps        sdk.Capabilities
}

// fileMode returns a file's permissions.
func fileMode(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// errInterrupted: a signal came while the plugins were being asked.
var errInterrupted = errors.New("stopped by a signal")

// checkFile reads a file and asks its plugins. The error is only about reading
// and the plugin directory; what is wrong with the file is in its diagnostics.
func (a *app) checkFile(ctx context.Context, name string) (*checkedFile, error) {
	f, err := a.checkParts(ctx, name, everyPart)
	if err != nil || f.missing > 0 || f.diags.HasErrors() {
		return f, err
	}
	f.diags = append(f.diags, config.CheckMemory(f.config, memoryCeilings(f).Usual, bytesText)...)
	f.diags.Sort()
	return f, nil
}

// checkParts is checkFile for a command that needs only some of the plugins.
func (a *app) checkParts(ctx context.Context, name string, asked parts) (*checkedFile, error) {
	src, err := readPipelineFile(a, name)
	if err != nil {
		return nil, err
	}
	c, diags := config.Load(name, src, config.Env{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, Mode: fileMode})
	f := &checkedFile{config: c, diags: diags}
	l, err := a.newLauncher(a.pluginDir(c), a.newLogger(a.stderr, c.Secrets))
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	onKill(l.kill)
	defer l.close()
	var together []config.Asked
	for _, p := range c.Pipelines {
		checked := f.pipeline(ctx, l, p, asked)
		f.pipelines = append(f.pipelines, checked)
		together = append(together, config.Asked{Pipeline: p, Source: checked.source.capabilities(), Gate: checked.gateCapabilities()})
	}
	f.diags = append(f.diags, config.CheckTogether(together)...)
	f.diags = append(f.diags, config.CheckRaws(together)...)
	if ctx.Err() != nil { // the plugins did not fail, they were not waited for
		return nil, errInterrupted
	}
	f.diags.Sort()
	return f, nil
}

func (f *checkedFile) pipeline(ctx context.Context, l launcher, p *config.Pipeline, asked parts) *checkedPipeline {
	out := &checkedPipeline{Pipeline: p}
	if s := p.Source; s != nil && s.Plugin != "" && asked(p, nil) {
		out.source = f.plugin(ctx, l, sdk.KindSource, s.Plugin, s.Settings, s.Problem)
	}
	sinks := make([]*sdk.Capabilities, len(p.Sinks))
	for i, s := range p.Sinks {
		k := checkedSink{Sink: s}
		if s.Plugin != "" && asked(p, s) {
			k.plugin = f.plugin(ctx, l, sdk.KindSink, s.Plugin, s.Settings, s.Problem)
		}
		if k.plugin != nil {
			f.diags = append(f.diags, config.CheckStuck(p, s, k.plugin.description.Schema, k.plugin.settings)...)
		}
		out.sinks = append(out.sinks, k)
		sinks[i] = k.plugin.capabilities()
	}
	f.diags = append(f.diags, config.CheckRoles(p, out.source.capabilities(), sinks)...)
	return out
}

// gateCapabilities are those of the sink that gates; nil: there is none, or it
// could not be asked.
func (p *checkedPipeline) gateCapabilities() *sdk.Capabilities {
	for _, s := range p.sinks {
		if s.Gates() {
			return s.plugin.capabilities()
		}
	}
	return nil
}

// problemFunc makes a diagnostic about the block that names a plugin.
type problemFunc func(summary, detail string) config.Diagnostic

// plugin starts a plugin and checks its settings. nil: it could not be asked.
func (f *checkedFile) plugin(ctx context.Context, l launcher, kind sdk.PluginKind, name string, s *config.Settings, problem problemFunc) *checkedPlugin {
	proc, err := l.ask(ctx, name)
	if err != nil {
		f.missing++
		f.diags = append(f.diags, cannotStart(name, err, problem))
		return nil
	}
	p := &checkedPlugin{name: name, process: proc, description: proc.Describe()}
	if p.description.Kind != kind {
		f.diags = append(f.diags, problem("Wrong kind of plugin",
			fmt.Sprintf("The plugin %q is a %s, and this is a %s block.", name, p.description.Kind, kind)))
		return nil
	}
	settings, diags := config.CheckSettings(s, p.description.Schema)
	f.diags = append(f.diags, diags...)
	caps, own := proc.Configure(settings)
	if diags.HasErrors() {
		own = aboutGiven(own, settings)
	}
	f.diags = append(f.diags, s.FromPlugin(own)...)
	if diags.HasErrors() || own.HasErrors() {
		return nil
	}
	p.settings, p.caps = settings, caps
	return p
}

// aboutGiven keeps what a plugin says about settings that it was given. It was
// not given those that are wrong already; what it says about them, or about
// the whole, would be said twice.
func aboutGiven(ds sdk.Diagnostics, s sdk.Settings) sdk.Diagnostics {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(s.JSON(), &given); err != nil {
		return nil
	}
	return slices.DeleteFunc(ds, func(d sdk.Diagnostic) bool {
		return len(d.Path) == 0 || given[d.Path[0]] == nil
	})
}

func cannotStart(name string, err error, problem problemFunc) config.Diagnostic {
	if errors.Is(err, errNoPlugin) {
		return problem("Plugin not found", err.Error())
	}
	return problem("Plugin cannot be started", fmt.Sprintf("The plugin %q: %v", name, err))
}

// capabilities is nil for a plugin that could not be asked.
func (p *checkedPlugin) capabilities() *sdk.Capabilities {
	if p == nil {
		return nil
	}
	return &p.caps
}

// report writes the diagnostics to stderr and returns what the exit code
// should say about them.
func (f *checkedFile) report(a *app) error {
	if err := config.WriteText(a.stderr, f.diags); err != nil {
		return err
	}
	return f.verdict()
}

// verdict: what is wrong in the file comes before what is not there, since
// only the first is the file's fault alone.
func (f *checkedFile) verdict() error {
	n := 0
	for _, d := range f.diags {
		if d.IsError() {
			n++
		}
	}
	switch {
	case n == 0:
		return nil
	case n == f.missing:
		return &exitError{code: exitEnvironment}
	}
	return &exitError{code: exitUsage}
}
