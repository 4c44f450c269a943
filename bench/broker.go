package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// brokerArg makes this program the broker, in a process of its own, so that
// its CPU and memory are not the contenders'.
const brokerArg = "broker"

// brokerOrder is what the broker is told on stdin: its topics. It stops at
// the end of stdin, so that it cannot outlive the bench.
type brokerOrder struct {
	Records int64             `json:"records"`
	Codecs  map[string]string `json:"codecs"`
}

// brokerReady is its answer once the topics are full.
type brokerReady struct {
	Address string `json:"address"`
}

func isBroker() bool { return len(os.Args) > 1 && os.Args[1] == brokerArg }

func brokerMain(ctx context.Context) error { return serveBroker(ctx, os.Stdin, os.Stdout) }

func serveBroker(ctx context.Context, in io.Reader, out io.Writer) error {
	dec := json.NewDecoder(in)
	var order brokerOrder
	if err := dec.Decode(&order); err != nil {
		return fmt.Errorf("read broker's order: %w", err)
	}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("bench")}
	for topic := range order.Codecs {
		opts = append(opts, kfake.SeedTopics(partitions, topic))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return fmt.Errorf("start broker: %w", err)
	}
	defer cluster.Close()
	address := cluster.ListenAddrs()[0]
	for topic, codec := range order.Codecs {
		if err := fill(ctx, address, topic, codec, order.Records); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
	}
	debug.FreeOSMemory()
	if err := json.NewEncoder(out).Encode(brokerReady{address}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

var codecs = map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "zstd": kgo.ZstdCompression()}

// fill produces n records over all partitions in turn.
func fill(ctx context.Context, address, topic, codec string, n int64) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[codec]), kgo.ProducerBatchMaxBytes(256<<10),
		kgo.ProducerLinger(20*time.Millisecond), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	records := makeRecords(1)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		r := records[i%distinct]
		r.Topic, r.Partition, r.Timestamp = topic, int32(i%partitions), begin.Add(time.Duration(i)*time.Millisecond)
		client.Produce(ctx, &r, func(_ *kgo.Record, err error) {
			if err != nil {
				stop(err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return context.Cause(ctx)
	}
	return context.Cause(ctx)
}
