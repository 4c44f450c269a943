package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/twg-io/twg/sdk/serve"
)

var updateScripts = flag.Bool("update", false, "write what scripts compare with anew")

func TestMain(m *testing.M) {
	run := func(plugins launcherFunc) func() {
		return func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, plugins, newFakeRecoverer)) }
	}
	testscript.Main(m, map[string]func(){
		"twg":                run(newFakeLauncher), // plugins in its own process
		"twg-real":           run(newLauncher),     // the product, beside its plugins
		"twg-plugin-numbers": func() { serve.Main(&numbers{}) },
		"twg-plugin-memory":  func() { serve.Main(&memory{}) },
		"twg-plugin-vault":   func() { serve.Main(&vault{}) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *updateScripts, RequireExplicitExec: true,
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "fetch": fetch},
		Setup: fakePrograms,
	})
}

// fakePrograms puts the directory of the test's plugin programs into $PLUGINS.
func fakePrograms(e *testscript.Env) error {
	path, err := exec.LookPath("twg-plugin-numbers")
	e.Setenv("PLUGINS", filepath.Dir(path))
	return err
}

// exits CODE PROGRAM ARGS runs a program that must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = strconv.Itoa(failed.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
