package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	maxPoll    = 2000
	queueDepth = 8
)

// poll is what one fetch gave, and when.
type poll struct {
	records []*kgo.Record
	at      time.Time
}

// reader is a consumer group of one member.
type reader struct {
	client      *kgo.Client
	topic       string
	cluster     string
	incarnation string
	records     int64
}

func newReader(ctx context.Context, c config) (*reader, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(c.brokers...),
		kgo.ConsumerGroup(c.group),
		kgo.ConsumeTopics(c.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.FetchMaxPartitionBytes(4<<20),
		kgo.WithPools(&pools{}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect %v: %w", c.brokers, err)
	}
	r := &reader{client: client, topic: c.topic, records: c.records}
	if err := r.identify(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return r, nil
}

// identify asks for the parts of the record id that records do not carry.
func (r *reader) identify(ctx context.Context) error {
	m, err := kadm.NewClient(r.client).Metadata(ctx, r.topic)
	if err != nil {
		return fmt.Errorf("metadata of %s: %w", r.topic, err)
	}
	d := m.Topics[r.topic]
	if d.Err != nil {
		return fmt.Errorf("metadata of %s: %w", r.topic, d.Err)
	}
	r.cluster, r.incarnation = m.Cluster, fmt.Sprintf("%x-%x-%x-%x-%x", d.ID[:4], d.ID[4:6], d.ID[6:8], d.ID[8:10], d.ID[10:])
	return nil
}

// readAll polls until every record was handed on, then closes polls.
func (r *reader) readAll(ctx context.Context, polls chan<- poll) error {
	defer close(polls)
	for left := r.records; left > 0; {
		f := r.client.PollRecords(ctx, int(min(left, maxPoll)))
		if err := f.Err(); err != nil {
			return fmt.Errorf("poll %s: %w", r.topic, err)
		}
		p := poll{f.Records(), time.Now()}
		left -= int64(len(p.records))
		select {
		case polls <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// commit stores the offsets that follow the last durable ones.
func (r *reader) commit(ctx context.Context, next map[int32]int64) error {
	offsets := map[int32]kgo.EpochOffset{}
	for p, at := range next {
		offsets[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
	}
	var failed error
	r.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{r.topic: offsets}, func(_ *kgo.Client, _ *commitRequest, resp *commitResponse, err error) {
		failed = commitError(resp, err)
	})
	return failed
}

func (r *reader) close() { r.client.Close() }
