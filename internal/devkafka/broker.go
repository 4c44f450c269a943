package devkafka

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Broker is a running broker.
type Broker struct {
	// Addr is its host:port.
	Addr string
	// Loaded says what became of each Load.
	Loaded []Loaded

	cluster *kfake.Cluster
}

// maxMessage lets large records in: a real broker would have to be told so,
// too.
const maxMessage = 96 << 20

// Start serves the options' topics until Close. ctx bounds the loading.
func Start(ctx context.Context, o Options) (*Broker, error) {
	cluster, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	b := &Broker{Addr: cluster.ListenAddrs()[0], cluster: cluster}
	if err := b.prepare(ctx, o); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the broker. With a data directory, what it holds is on disk
// then.
func (b *Broker) Close() { b.cluster.Close() }

// Run serves until ctx ends and says on out what it does.
func Run(ctx context.Context, o Options, out io.Writer) error {
	b, err := Start(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, l := range b.Loaded {
		fmt.Fprintln(out, l)
	}
	fmt.Fprintf(out, "kafka broker at %s\n", b.Addr)
	<-ctx.Done()
	return nil
}

func newCluster(o Options) (*kfake.Cluster, error) {
	host, port, err := o.address()
	if err != nil {
		return nil, err
	}
	id := o.ClusterID
	if id == "" {
		id = "twg-dev"
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ClusterID(id),
		kfake.DefaultNumPartitions(DefaultPartitions),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(maxMessage)}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			return net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
		}),
	}
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(o.DataDir))
	}
	if o.Log != nil {
		opts = append(opts, kfake.WithLogger(clusterLog{o.Log}))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start broker on %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
	}
	limitByPartition(cluster)
	return cluster, nil
}

// prepare creates the topics and loads the files.
func (b *Broker) prepare(ctx context.Context, o Options) error {
	for _, t := range o.Topics {
		if err := b.Create(t); err != nil {
			return err
		}
	}
	for _, l := range o.Load {
		if b.cluster.TopicInfo(l.Topic) == nil {
			if err := b.Create(Topic{Name: l.Topic}); err != nil {
				return err
			}
		}
		done, err := b.load(ctx, l)
		if err != nil {
			return err
		}
		b.Loaded = append(b.Loaded, done)
	}
	return nil
}

// Create creates a topic. One that exists with as many partitions is left as
// it is.
func (b *Broker) Create(t Topic) error {
	if t.Partitions == 0 {
		t.Partitions = DefaultPartitions
	}
	if b.cluster.TopicInfo(t.Name) != nil {
		if n := len(b.cluster.PartitionInfos(t.Name)); n != int(t.Partitions) {
			return fmt.Errorf("create topic %s: it exists with %d partitions, not %d; use another data directory or the same number", t.Name, n, t.Partitions)
		}
		return nil
	}
	if err := b.cluster.CreateTopic(t.Name, t.Partitions, nil); err != nil {
		return fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	return nil
}

// Records counts the positions that a topic has given out.
func (b *Broker) Records(topic string) int64 {
	var n int64
	for _, p := range b.cluster.PartitionInfos(topic) {
		n += p.HighWatermark
	}
	return n
}
