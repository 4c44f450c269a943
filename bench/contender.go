package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// task is one run's input: a fresh group, a fresh directory and a place to
// write to. The yardstick reads the first topic only.
type task struct {
	address string
	topics  []string
	group   string
	dir     string
	place   place
	options options
}

// place is where records go to.
type place interface {
	// prepare makes it new.
	prepare(context.Context, task) error
	// sink is the sink's block in the pipeline's file.
	sink(task) string
	// yardstickArgs tell the yardstick.
	yardstickArgs(task) []string
	// read checks that each record is there exactly once.
	read(context.Context, task) (output, error)
}

// records is the number of records in all topics.
func (t task) records() int64 { return t.options.Records * int64(len(t.topics)) }

// contender is a program that moves a topic to files and prints a summary.
type contender struct {
	name string
	// role is that of the process which is started.
	role    string
	command func(context.Context, task) (*exec.Cmd, error)
}

var (
	twg       = contender{"twg", roleHost, twgCommand}
	yardstick = contender{"yardstick", roleYardstick, yardstickCommand}
)

func yardstickCommand(ctx context.Context, t task) (*exec.Cmd, error) {
	args := []string{"-brokers", t.address, "-topic", t.topics[0], "-group", t.group,
		"-records", strconv.FormatInt(t.options.Records, 10)}
	return exec.CommandContext(ctx, filepath.Join(t.options.binDir(), "bench-yardstick"), append(args, t.place.yardstickArgs(t)...)...), nil
}

const pipelineText = `pipeline "bench" {
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%s]
      group   = %q
      start   = "earliest"
    }
  }

%s}
`

// quoted is the list's elements as HCL has them.
func quoted(list []string) string {
	var q []string
	for _, s := range list {
		q = append(q, strconv.Quote(s))
	}
	return strings.Join(q, ", ")
}

func twgCommand(ctx context.Context, t task) (*exec.Cmd, error) {
	file := filepath.Join(t.dir, "bench.hcl")
	if err := os.WriteFile(file, []byte(pipelineFile(t)), 0o644); err != nil {
		return nil, fmt.Errorf("write pipeline file: %w", err)
	}
	return exec.CommandContext(ctx, filepath.Join(t.options.binDir(), "twg"), "run", "--until-caught-up", "--json", file), nil
}

func pipelineFile(t task) string {
	return fmt.Sprintf(pipelineText, t.address, quoted(t.topics), t.group, t.place.sink(t))
}
