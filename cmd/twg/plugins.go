package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/twg-io/twg/host/plugins"
)

type pluginsCmd struct {
	List pluginsListCmd `cmd:"" help:"List the plugin programs."`
	Lock pluginsLockCmd `cmd:"" help:"Pin the plugin programs by SHA-256: a changed one is refused from then on."`
}

type pluginsListCmd struct {
	JSON bool `help:"Print JSON."`
}

// pluginInfo is one line of the list.
type pluginInfo struct {
	Name    string `json:"name"`
	Kind    string `json:"kind,omitempty"`
	Version string `json:"version,omitempty"`
	Doc     string `json:"doc,omitempty"`
	File    string `json:"file"`
	SHA256  string `json:"sha256,omitempty"`
	// Error says why it cannot be used.
	Error string `json:"error,omitempty"`
}

func (c *pluginsListCmd) Run(ctx context.Context, a *app) error {
	dir := a.pluginDir(nil)
	opt, err := pluginOptions(dir, a.newLogger(a.stderr, nil))
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	rows, err := plugins.List(ctx, []string{dir}, opt)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	infos := make([]pluginInfo, len(rows))
	broken := false
	for i, r := range rows {
		infos[i] = describePlugin(r)
		broken = broken || infos[i].Error != ""
	}
	if err := c.write(a, dir, infos); err != nil {
		return err
	}
	if broken {
		return &exitError{code: exitEnvironment}
	}
	return nil
}

func describePlugin(r plugins.Row) pluginInfo {
	info := pluginInfo{Name: r.File.Name, File: r.File.Path}
	sum, err := fileSHA256(r.File.Path)
	if err = cmp.Or(r.Err, err); err != nil {
		info.Error = err.Error()
		return info
	}
	d := r.Description
	info.Kind, info.Version, info.Doc, info.SHA256 = d.Kind.String(), d.Version, d.Doc, sum
	return info
}

func (c *pluginsListCmd) write(a *app, dir string, infos []pluginInfo) error {
	if c.JSON {
		return writeJSON(a, infos)
	}
	if len(infos) == 0 {
		fmt.Fprintf(a.stderr, "There is no plugin in %s. Plugins are executable files named %sNAME.\n", dir, plugins.Prefix)
	}
	for _, p := range infos {
		if p.Error != "" {
			fmt.Fprintf(a.stderr, "%s: %s\n", p.Name, p.Error)
			continue
		}
		fmt.Fprintf(a.stdout, "%-16s %-7s %-10s %s\n", p.Name, p.Kind, p.Version, p.File)
	}
	return nil
}

type pluginsLockCmd struct{}

func (c *pluginsLockCmd) Run(a *app) error {
	dir := a.pluginDir(nil)
	files, err := plugins.Discover([]string{dir})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("lock plugins: there is none in %s", dir)
	}
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	lock, err := plugins.NewLock(files)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	var text bytes.Buffer
	if _, err := lock.WriteTo(&text); err != nil {
		return err
	}
	path := filepath.Join(dir, lockName)
	if err := replaceFile(path, text.Bytes()); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	fmt.Fprintf(a.stdout, "%s pins %s\n", path, count(len(files), "plugin"))
	return nil
}
