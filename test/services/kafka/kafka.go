// Package kafka starts a real Apache Kafka cluster for tests: brokers in KRaft
// mode on loopback ports, each a process of its own.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	startWithin = 120 * time.Second
	stopWithin  = 60 * time.Second
)

// Config says how the cluster is started. The zero value is good: one broker.
type Config struct {
	// Dir is where data and logs lie. Empty: a temporary directory that Close
	// removes.
	Dir string
	// Brokers is how many there are; 0: one. The first is the only controller:
	// while it is down the others serve, but nothing is elected.
	Brokers int
	// Heap bounds a broker's heap, such as "512m"; empty: 384m.
	Heap string
	// Fast lets the virtual machine compile fully, for benchmarks: it costs
	// CPU at the start, and pays after some seconds of load.
	Fast bool
	// Settings are further lines of every server.properties, by name.
	Settings map[string]string
}

// Cluster is what runs. The methods are for one goroutine at a time.
type Cluster struct {
	dir   string
	own   bool // dir is removed by Close
	nodes []*Node
}

// Start formats new storage, starts the brokers and waits until all of them
// answer. The caller calls Close.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{dir: cfg.Dir, own: cfg.Dir == ""}
	if err := c.prepare(ctx, cfg); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.each(func(n *Node) error { return n.Start(ctx) }); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Node returns broker i, from 0. Its id in the cluster is i+1.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// Addrs lists the brokers' addresses.
func (c *Cluster) Addrs() []string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, n.Addr())
	}
	return out
}

// Close ends the brokers at once and removes a directory that Start made.
func (c *Cluster) Close() error {
	for _, n := range c.nodes {
		n.Kill()
	}
	if !c.own || c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

func (c *Cluster) each(do func(*Node) error) error {
	var g errgroup.Group
	for _, n := range c.nodes {
		g.Go(func() error { return do(n) })
	}
	return g.Wait()
}

// prepare makes directories, ports, configurations and empty storage.
func (c *Cluster) prepare(ctx context.Context, cfg Config) error {
	lib, err := Artifacts(ctx)
	if err != nil {
		return err
	}
	if c.own {
		c.dir, err = os.MkdirTemp("", "twg-kafka-")
	} else {
		err = os.MkdirAll(c.dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("start kafka: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "log4j2.properties"), log4j, 0o644); err != nil {
		return fmt.Errorf("start kafka: %w", err)
	}
	if err := c.addNodes(cfg, lib); err != nil {
		return err
	}
	return c.each(func(n *Node) error { return n.format(ctx) })
}
