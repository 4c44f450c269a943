package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	outDir  = "bench/out"
	outFile = outDir + "/latest.json"
	binDir  = "bin"
)

// harness is what all runs share: the binaries and the broker.
type harness struct {
	options options
	broker  *exec.Cmd
	stdin   io.Closer
	address string
	runs    int
}

func newHarness(ctx context.Context, o options) (*harness, error) {
	if err := build(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	h := &harness{options: o}
	fmt.Fprintf(os.Stderr, "bench: filling topics of %d records\n", o.Records)
	if err := h.startBroker(ctx); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	return h, nil
}

// startBroker returns once the topics are full.
func (h *harness) startBroker(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, brokerArg)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	h.broker, h.stdin = cmd, in
	order := brokerOrder{Records: h.options.Records, Codecs: map[string]string{}}
	for _, c := range h.options.cases() {
		order.Codecs[c.topic] = c.codec
	}
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return err
	}
	var ready brokerReady
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		h.close()
		return err
	}
	h.address = ready.Address
	return nil
}

// close ends the broker and waits for it.
func (h *harness) close() {
	h.stdin.Close()
	_ = h.broker.Wait()
}

// build makes the binaries that the bench runs.
func build(ctx context.Context) error {
	for _, b := range [][2]string{
		{"bench-yardstick", "./bench/yardstick"},
		{"twg", "./cmd/twg"},
		{"twg-plugin-kafka-source", "./plugins/kafka-source"},
		{"twg-plugin-parquet", "./plugins/parquet"},
	} {
		args := []string{"build", "-o", filepath.Join(binDir, b[0])}
		if tags := os.Getenv("BENCH_TAGS"); tags != "" {
			args = append(args, "-tags", tags)
		}
		cmd := exec.CommandContext(ctx, "go", append(args, b[1])...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", b[1], err)
		}
	}
	return nil
}
