package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// launcher finds plugin programs in one directory and starts them.
type launcher interface {
	// ask starts a plugin for as long as it takes to ask about it. The error
	// wraps errNoPlugin where there is none of the name.
	ask(ctx context.Context, name string) (*process, error)
	// source and sink start a plugin that is started again whenever it ends,
	// with its settings, until close.
	source(ctx context.Context, p *checkedPlugin) (sdk.Source, error)
	sink(ctx context.Context, p *checkedPlugin) (sdk.Sink, error)
	// pids are the processes that run now. Any goroutine may ask.
	pids() []int
	// close ends every process in good order and waits; kill does neither.
	close()
	kill()
}

// process is a plugin that runs.
type process struct {
	sdk.Plugin
	File string
	// digest reads the whole file: only who shows the result asks for it.
	digest func() (string, error)
}

// errNoPlugin is that of a plugin that is not there.
var errNoPlugin = errors.New("no such plugin")

// launcherFunc makes the launcher of a directory.
type launcherFunc func(dir string, log *slog.Logger) (launcher, error)

// pluginDir decides where plugins are looked for.
func (a *app) pluginDir(c *config.Config) string {
	switch {
	case a.PluginDir != "":
		return a.PluginDir
	case c != nil && c.PluginDir != "":
		return c.PluginDir
	}
	self, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(self)
}
