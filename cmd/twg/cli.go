package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the grammar of the command line.
type cli struct {
	PluginDir string `help:"Directory of plugin programs (default: plugin_dir of the file, else beside twg)." env:"TWG_PLUGIN_DIR" placeholder:"DIR"`
	LogLevel  string `help:"Least level that is logged: debug, info, warn, error." enum:"debug,info,warn,error" default:"info"`
	LogFormat string `help:"Form of log lines: text or json." enum:"text,json" default:"text"`

	Validate validateCmd `cmd:"" help:"Check pipeline files. No service is contacted and no record is read."`
	Plan     planCmd     `cmd:"" help:"Explain what a pipeline file guarantees, before anything runs."`
	Run      runCmd      `cmd:"" help:"Run the pipelines of a file."`
	Status   statusCmd   `cmd:"" help:"Show where each sink of a pipeline stands, as its primary-raw sink knows it."`
	Top      topCmd      `cmd:"" help:"Watch a running host."`
	Recover  recoverCmd  `cmd:"" help:"Rebuild what a secondary sink lacks from the primary-raw sink, now."`
	Raw      rawCmd      `cmd:"" help:"Look after the primary-raw sink."`
	Fmt      fmtCmd      `cmd:"" help:"Bring pipeline files into the standard layout."`
	Plugins  pluginsCmd  `cmd:"" help:"List or pin plugin programs."`
	Dev      devCmd      `cmd:"" help:"Services for trying twg out."`
	Version  versionCmd  `cmd:"" help:"Say which version this is."`
}

// app is what a command works with.
type app struct {
	*cli
	stdin          io.Reader
	stdout, stderr io.Writer
	newLauncher    launcherFunc
	newRecoverer   recovererFunc
}

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, plugins launcherFunc, recovery recovererFunc) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("twg"),
		kong.Description("twg moves records from a source to durable sinks and commits a position only behind what is durable."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(stderr, "twg:", err)
		return exitRuntime
	}
	cmd, err := parser.Parse(longFlags(args))
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(stderr, "twg: %v\nRun \"twg --help\" to see the commands.\n", err)
		return exitUsage
	}
	ctx, sig := watchSignals(context.Background())
	defer sig.stop()
	cmd.BindTo(ctx, (*context.Context)(nil))
	return exitCode(cmd.Run(&app{&c, stdin, stdout, stderr, plugins, recovery}), stderr)
}

// longFlags lets a long flag be written with one dash, as Go programs do.
func longFlags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "--" {
			copy(out[i:], args[i:])
			return out
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.Trim(a[1:2], "abcdefghijklmnopqrstuvwxyz") == "" {
			out[i] = "-" + a
		}
	}
	return out
}

const (
	exitOK          = 0
	exitRuntime     = 1
	exitUsage       = 2 // usage or configuration
	exitEnvironment = 3 // missing plugin, unreachable service
	exitStuck       = 4 // nothing moved any more, for stuck_exit
)

// exitError is an error that has an exit code of its own. A nil err means
// that everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func exitCode(err error, stderr io.Writer) int {
	if e, ok := errors.AsType[*exitError](err); err != nil && (!ok || e.err != nil) {
		fmt.Fprintln(stderr, "twg:", err)
	}
	return codeOf(err)
}

func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitRuntime
}
