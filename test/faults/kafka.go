package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/tap"
	"github.com/twg-io/twg/test/services/kafka"
)

// realBroker is an Apache Kafka broker behind a tap, which the schedule takes
// away and brings back.
type realBroker struct {
	cluster *kafka.Cluster
	tap     *tap.Tap
}

// startKafka starts a broker with an empty topic. Its data is new each time.
func startKafka(ctx context.Context, dir string, t *tap.Tap) (*realBroker, error) {
	c, err := kafka.Start(ctx, kafka.Config{
		Dir:      filepath.Join(dir, "kafka"),
		Settings: map[string]string{"advertised.listeners": "PLAINTEXT://" + t.Addr()},
	})
	if err != nil {
		return nil, err
	}
	b := &realBroker{c, t}
	t.To(c.Node(0).Addr())
	if err := b.createTopic(ctx); err != nil {
		b.close()
		return nil, fmt.Errorf("create topic %s: %w", topicName, err)
	}
	return b, nil
}

func (b *realBroker) createTopic(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addr()))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, partitions, 1, nil, topicName)
	return err
}

func (b *realBroker) addr() string { return b.tap.Addr() }

func (b *realBroker) close() {
	_ = b.cluster.Close()
	b.tap.Close()
}

// down ends the broker, with SIGKILL or in good order.
func (b *realBroker) down(ctx context.Context, how string) error {
	defer b.tap.Shut()
	switch how {
	case "kill":
		b.cluster.Node(0).Kill()
		return nil
	case "stop":
		return b.cluster.Node(0).Stop(ctx)
	}
	return errors.New("the broker knows no way to " + how)
}

// up starts it again on the same port and data.
func (b *realBroker) up(ctx context.Context) error {
	if err := b.cluster.Node(0).Start(ctx); err != nil {
		return err
	}
	return b.tap.Open()
}
