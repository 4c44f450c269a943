// Package readback reads a topic and a directory of files with clients of
// the harness's own: nothing of the product takes part.
package readback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/verify"
)

// Topic reads every record of a topic that a read_committed consumer sees,
// and what identifies its streams.
func Topic(ctx context.Context, brokers []string, topic string) (verify.Topic, []verify.Record, error) {
	id, ends, err := describe(ctx, brokers, topic)
	if err != nil {
		return id, nil, err
	}
	from := map[int32]kgo.Offset{}
	left := 0
	for p, end := range ends {
		if end > 0 {
			from[p] = kgo.NewOffset().AtStart()
			left++
		}
	}
	if left == 0 {
		return id, nil, nil
	}
	c, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.KeepControlRecords(), // so that a trailing marker is seen to be passed
	)
	if err != nil {
		return id, nil, fmt.Errorf("open consumer: %w", err)
	}
	defer c.Close()
	var out []verify.Record
	for left > 0 {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return id, nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if r.Offset == ends[r.Partition]-1 {
				left--
			}
			if !r.Attrs.IsControl() && r.Offset < ends[r.Partition] {
				out = append(out, record(r))
			}
		})
	}
	return id, out, nil
}

// Ends returns where each partition ends for a read_committed consumer.
func Ends(ctx context.Context, broker, topic string) (map[int32]int64, error) {
	_, ends, err := describe(ctx, []string{broker}, topic)
	return ends, err
}

// describe returns the topic's identity and where its partitions end.
func describe(ctx context.Context, brokers []string, topic string) (verify.Topic, map[int32]int64, error) {
	id := verify.Topic{Name: topic}
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return id, nil, fmt.Errorf("open admin client: %w", err)
	}
	defer c.Close()
	adm := kadm.NewClient(c)
	md, err := adm.Metadata(ctx, topic)
	if err != nil {
		return id, nil, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	id.Cluster, id.Incarnation = md.Cluster, uuid(md.Topics[topic].ID)
	ends, err := settled(ctx, adm, topic)
	return id, ends, err
}

// settleEvery is how often settled asks again.
const settleEvery = 50 * time.Millisecond

// settled returns the partitions' ends once no transaction is open: a broker
// tells a producer that its transaction has ended before the markers stand in
// the partitions.
func settled(ctx context.Context, adm *kadm.Client, topic string) (map[int32]int64, error) {
	for {
		stable, err := adm.ListCommittedOffsets(ctx, topic)
		if err == nil {
			err = stable.Error()
		}
		last, err2 := adm.ListEndOffsets(ctx, topic)
		if err2 == nil {
			err2 = last.Error()
		}
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("list ends of %s: %w", topic, err)
		}
		ends, open := map[int32]int64{}, false
		last.Each(func(o kadm.ListedOffset) {
			ends[o.Partition] = o.Offset
			s, _ := stable.Lookup(topic, o.Partition)
			open = open || s.Offset != o.Offset
		})
		if !open {
			return ends, nil
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("list ends of %s: a transaction is still open: %w", topic, ctx.Err())
		}
	}
}

func record(r *kgo.Record) verify.Record {
	out := verify.Record{
		Place:       verify.Place{Partition: r.Partition, Position: r.Offset},
		TimestampMS: r.Timestamp.UnixMilli(),
		Key:         r.Key,
		Value:       r.Value,
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, verify.Header{Name: h.Key, Value: h.Value})
	}
	return out
}

// uuid writes a topic id as twg does.
func uuid(id kadm.TopicID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
