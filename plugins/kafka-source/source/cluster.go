package source

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// cluster is what the brokers last said about themselves and the topics. All
// methods may be called from any goroutine.
type cluster struct {
	client *kgo.Client
	names  []string

	mu      sync.Mutex
	id      string
	topics  map[string]topicInfo
	brokers []int32
}

type topicInfo struct {
	id      [16]byte
	leaders map[int32]leader
}

type leader struct{ broker, epoch int32 }

// refresh asks for the topics' metadata. The topics that do not exist, or
// cannot be described, are returned with the reason.
func (c *cluster) refresh(ctx context.Context) (map[string]error, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range c.names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	topics, missing := readTopics(resp)
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp.ClusterID != nil {
		c.id = *resp.ClusterID
	}
	c.topics = topics
	c.brokers = c.brokers[:0]
	for _, b := range resp.Brokers {
		c.brokers = append(c.brokers, b.NodeID)
	}
	return missing, nil
}

// reach asks each seed broker, without trying again, until one answers. Unlike
// refresh it tells why a broker cannot be talked to.
func (c *cluster) reach(ctx context.Context) error {
	var errs []error
	for _, seed := range c.client.SeedBrokers() {
		_, err := seed.Request(ctx, kmsg.NewPtrMetadataRequest())
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func readTopics(resp *kmsg.MetadataResponse) (map[string]topicInfo, map[string]error) {
	topics, missing := make(map[string]topicInfo), make(map[string]error)
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			missing[*t.Topic] = err
			continue
		}
		info := topicInfo{id: t.TopicID, leaders: make(map[int32]leader, len(t.Partitions))}
		for _, p := range t.Partitions {
			info.leaders[p.Partition] = leader{p.Leader, p.LeaderEpoch}
		}
		topics[*t.Topic] = info
	}
	return topics, missing
}

// brokerIDs lists the brokers.
func (c *cluster) brokerIDs() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.brokers)
}

// current returns the topics with their ids.
func (c *cluster) current() map[string]topicInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.topics)
}

// leader returns who leads the run's partition; false: nobody is known, or
// the topic is another one by now.
func (c *cluster) leader(r *run) (leader, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.topics[r.stream.Topic]
	if !ok || t.id != r.topicID {
		return leader{}, false
	}
	l, ok := t.leaders[r.stream.Partition]
	return l, ok
}

// has reports whether the topic has the partition now.
func (c *cluster) has(p partition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.topics[p.topic].leaders[p.num]
	return ok
}

// identify names the stream that partition p stands for now.
func (c *cluster) identify(p partition) (id sdk.Stream, topicID [16]byte, parts int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.topics[p.topic]
	if !ok {
		return sdk.Stream{}, topicID, 0, false
	}
	id = sdk.Stream{Cluster: c.id, Topic: p.topic, Incarnation: incarnation(t.id), Partition: p.num}
	return id, t.id, len(t.leaders), true
}

// incarnation writes a topic id as text; a broker that has no topic ids gives
// an empty one.
func incarnation(id [16]byte) string {
	if id == ([16]byte{}) {
		return ""
	}
	h := hex.EncodeToString(id[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}
