package main

import (
	"context"
	"fmt"

	"github.com/twg-io/twg/internal/devkafka"
)

type devCmd struct {
	Kafka devKafkaCmd `cmd:"" help:"Serve the Kafka protocol from this process, with topics loaded from files. For trying out; no product broker."`
}

type devKafkaCmd struct {
	Listen    string   `default:"127.0.0.1:9092" help:"Address to serve; port 0 takes a free one." placeholder:"HOST:PORT"`
	DataDir   string   `help:"Keep topics and groups in this directory; default: in memory." placeholder:"DIR"`
	Topic     []string `help:"Topic to create; may be repeated." placeholder:"NAME:PARTITIONS"`
	Load      []string `help:"File to load, one record a line; may be repeated." placeholder:"TOPIC=FILE"`
	Key       string   `help:"JSON pointer or field of a record's key in the loaded lines." placeholder:"/id"`
	Timestamp string   `help:"JSON pointer or field of a record's timestamp: milliseconds or RFC 3339." placeholder:"/time"`
}

func (c *devKafkaCmd) Run(ctx context.Context, a *app) error {
	o := devkafka.Options{Listen: c.Listen, DataDir: c.DataDir}
	for _, text := range c.Topic {
		t, err := devkafka.ParseTopic(text)
		if err != nil {
			return usageError("%w", err)
		}
		o.Topics = append(o.Topics, t)
	}
	for _, text := range c.Load {
		l, err := devkafka.ParseLoad(text)
		if err != nil {
			return usageError("%w", err)
		}
		l.Key, l.Timestamp = c.Key, c.Timestamp
		o.Load = append(o.Load, l)
	}
	fmt.Fprintln(a.stderr, "twg dev kafka is for trying twg out: one process, no replication.")
	return devkafka.Run(ctx, o, a.stdout)
}
