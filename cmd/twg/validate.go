package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twg-io/twg/host/config"
)

type validateCmd struct {
	JSON  bool     `help:"Print the result as JSON."`
	Files []string `arg:"" name:"file" help:"Pipeline files; - reads standard input."`
}

// validateResult is what --json prints.
type validateResult struct {
	Valid       bool               `json:"valid"`
	Errors      int                `json:"errors"`
	Warnings    int                `json:"warnings"`
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

func (c *validateCmd) Run(ctx context.Context, a *app) error {
	var worst error
	result := validateResult{Diagnostics: config.Diagnostics{}}
	for _, name := range c.Files {
		f, err := a.checkFile(ctx, name)
		if errors.Is(err, errInterrupted) {
			return err
		}
		if err != nil { // the other files are checked all the same
			result.add(config.Diagnostics{config.FileProblem(name, err)})
			worst = worse(worst, &exitError{code: codeOf(err)})
			continue
		}
		result.add(f.diags)
		worst = worse(worst, f.verdict())
		if !c.JSON && f.verdict() == nil {
			fmt.Fprintf(a.stdout, "%s is valid: %s\n", name, count(len(f.pipelines), "pipeline"))
		}
	}
	result.Valid = result.Errors == 0
	if c.JSON {
		return errors.Join(writeJSON(a, result), worst)
	}
	return errors.Join(config.WriteText(a.stderr, result.Diagnostics), worst)
}

func (r *validateResult) add(diags config.Diagnostics) {
	r.Diagnostics = append(r.Diagnostics, diags...)
	for _, d := range diags {
		if d.IsError() {
			r.Errors++
		} else {
			r.Warnings++
		}
	}
}

// worse prefers a problem of the files over one of their surroundings.
func worse(a, b error) error {
	return cmp.Or(withCode(a, exitUsage), withCode(b, exitUsage), a, b)
}

func withCode(err error, code int) error {
	if e, ok := errors.AsType[*exitError](err); ok && e.code == code {
		return err
	}
	return nil
}

func writeJSON(a *app, v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// count writes "1 record", "2 records".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
