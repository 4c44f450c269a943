package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/twg-io/twg/host/config"
)

type fmtCmd struct {
	Check bool     `help:"Change nothing; list the files that would change and fail if there are any."`
	Files []string `arg:"" name:"file" help:"Pipeline files; - reads standard input and writes standard output."`
}

func (c *fmtCmd) Run(a *app) error {
	failed := false
	for _, name := range c.Files {
		ok, err := c.one(a, name)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return &exitError{code: exitUsage}
	}
	return nil
}

// one formats a file. false: it has errors, or --check found it unformatted.
func (c *fmtCmd) one(a *app, name string) (bool, error) {
	src, err := readPipelineFile(a, name)
	if err != nil {
		return false, err
	}
	if diags := config.CheckSyntax(name, src); diags.HasErrors() {
		return false, config.WriteText(a.stderr, diags)
	}
	out := hclwrite.Format(src)
	switch {
	case name == "-" && !c.Check:
		_, err = a.stdout.Write(out)
		return true, err
	case bytes.Equal(out, src):
		return true, nil
	case c.Check:
		fmt.Fprintln(a.stdout, name)
		return false, nil
	}
	fmt.Fprintln(a.stdout, name)
	return true, replaceFile(name, out)
}

// readPipelineFile reads a named file, or standard input for "-".
func readPipelineFile(a *app, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.stdin)
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, usageError("read pipeline file: %w", err)
	}
	return src, nil
}

// replaceFile keeps the file's mode, and the old text if the new one cannot be
// written. A file that is new gets mode 0644. A symbolic link stays one.
func replaceFile(name string, text []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	mode := os.FileMode(0o644)
	info, err := os.Stat(name)
	if err == nil {
		mode = info.Mode().Perm()
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tmp := name + ".twg-new"
	if err := os.WriteFile(tmp, text, mode); err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}
