package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	if err := build(ctx, o); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	h := &harness{options: o}
	fmt.Fprintf(os.Stderr, "bench: filling topics of %d records\n", o.Records)
	if err := h.startBroker(ctx); err != nil {
		h.close()
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
		return err
	}
	h.address = ready.Address
	return nil
}

// close ends the broker, if there is one, and waits for it.
func (h *harness) close() {
	if h.broker == nil {
		return
	}
	h.stdin.Close()
	_ = h.broker.Wait()
}
