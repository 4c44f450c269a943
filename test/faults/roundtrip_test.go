package main

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/twg-io/twg/test/faults/produce"
	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
)

// What the producer says that it wrote is what the reader of the topic finds.
func TestProducedIsRead(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "33554432"}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := produce.New(produce.Config{Brokers: c.ListenAddrs(), Topic: "t", Partitions: 3, Seed: 5, PerSecond: 2000, LargeAfter: []time.Duration{0}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, got, err := readback.Topic(wait, c.ListenAddrs(), "t")
	if err != nil {
		t.Fatal(err)
	}
	real, aborted, large := p.Counts()
	if len(got) != real || aborted == 0 || large != 1 {
		t.Fatalf("read %d records of %d; %d aborted, %d large", len(got), real, aborted, large)
	}
	there := map[verify.Place]bool{}
	for _, r := range got {
		there[r.Place] = true
	}
	for _, place := range p.Real() {
		if !there[place] {
			t.Fatalf("%s was produced and is not read", place)
		}
	}
}
