package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// harness is what all runs share: the binaries, the broker and, if a row asks
// for it, the database.
type harness struct {
	options  options
	database *database
	broker   *exec.Cmd
	stdin    io.Closer
	address  string
	runs     int
	files    int // pipeline files of raw-first
}

func newHarness(ctx context.Context, o options) (*harness, error) {
	if err := build(ctx, o); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	h := &harness{options: o}
	if o.needsDatabase() {
		var err error
		if h.database, err = startDatabase(ctx); err != nil {
			return nil, fmt.Errorf("%w (without a database: ONLY=kafka-parquet,kafka-parquet-zstd)", err)
		}
	}
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
		for _, topic := range c.topics() {
			order.Codecs[topic] = c.codec
		}
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

// place is where a case's records go to.
func (h *harness) place(c benchCase, connections int) place {
	if c.sink == postgresSink {
		return rawTable{h.database, connections}
	}
	return parquetFiles{}
}

// databasePID is 0 without a database.
func (h *harness) databasePID() int {
	if h.database == nil {
		return 0
	}
	return h.database.server.PID()
}

// close ends database and broker, if there are any, and waits for them.
func (h *harness) close() {
	if h.database != nil {
		h.database.close()
	}
	if h.broker == nil {
		return
	}
	h.stdin.Close()
	_ = h.broker.Wait()
}
