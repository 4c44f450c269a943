package source

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// The symbolic timestamps of a ListOffsets request.
const (
	atLatest        = -1 // with read_committed: the last stable offset
	atEarliest      = -2
	atEarliestLocal = -4 // what the broker has on its own disk
)

// answer is a position, or why there is none.
type answer struct {
	position int64
	err      error
}

// listOffsets asks the leaders where the partitions are at a timestamp. Every
// partition is in the answer.
func listOffsets(ctx context.Context, client *kgo.Client, at map[partition]int64) (map[partition]answer, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = 1 // read_committed
	topics := make(map[string]int)
	for p, timestamp := range at {
		i, ok := topics[p.topic]
		if !ok {
			i = len(req.Topics)
			topics[p.topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p.num, timestamp
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	return collectOffsets(client.RequestSharded(ctx, req), at)
}

func collectOffsets(shards []kgo.ResponseShard, at map[partition]int64) (map[partition]answer, error) {
	answers := make(map[partition]answer, len(at))
	var firstErr error
	for _, s := range shards {
		if s.Err != nil {
			firstErr = s.Err
			continue
		}
		for _, t := range s.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				answers[partition{t.Topic, p.Partition}] = answer{p.Offset, kerr.ErrorForCode(p.ErrorCode)}
			}
		}
	}
	if len(answers) == 0 && firstErr != nil {
		return nil, firstErr
	}
	for p := range at {
		if _, ok := answers[p]; !ok {
			err := firstErr
			if err == nil {
				err = fmt.Errorf("the broker did not answer for %s/%d", p.topic, p.num)
			}
			answers[p] = answer{sdk.NoPosition, err}
		}
	}
	return answers, nil
}

// resolve turns the queries into positions. It fails as a whole: a host that
// got half of the answers would have to ask again anyhow.
func (r *reader) resolve(ctx context.Context, queries []sdk.Query) ([]sdk.Resolved, error) {
	at := make(map[partition]int64, len(queries))
	for _, q := range queries {
		timestamp, err := queryTimestamp(q)
		if err != nil {
			return nil, err
		}
		at[partition{q.Stream.Topic, q.Stream.Partition}] = timestamp
	}
	answers, err := listOffsets(ctx, r.client, at)
	if err != nil {
		return nil, sdk.Errorf(sdk.KindRetryable, "list offsets", "%w", err)
	}
	if err := r.fillLatest(ctx, answers); err != nil {
		return nil, err
	}
	// A topic that was created anew in between would give positions of
	// another stream.
	if _, err := r.cluster.refresh(ctx); err != nil {
		return nil, sdk.Errorf(sdk.KindRetryable, "read metadata", "%w", err)
	}
	return r.resolved(queries, answers)
}

func queryTimestamp(q sdk.Query) (int64, error) {
	switch q.At {
	case sdk.StartEarliest:
		return atEarliest, nil
	case sdk.StartLatest:
		return atLatest, nil
	case sdk.StartTimestamp:
		if q.TimestampMS >= 0 {
			return q.TimestampMS, nil
		}
	}
	return 0, sdk.Errorf(sdk.KindFatal, "resolve "+q.Stream.String(), "%s (%d ms) is not a position", q.At, q.TimestampMS)
}

// fillLatest asks again for the partitions that have nothing at or after the
// timestamp: they begin at their end.
func (r *reader) fillLatest(ctx context.Context, answers map[partition]answer) error {
	again := make(map[partition]int64)
	for p, a := range answers {
		if a.err == nil && a.position < 0 {
			again[p] = atLatest
		}
	}
	if len(again) == 0 {
		return nil
	}
	ends, err := listOffsets(ctx, r.client, again)
	if err != nil {
		return sdk.Errorf(sdk.KindRetryable, "list offsets", "%w", err)
	}
	for p, a := range ends {
		answers[p] = a
	}
	return nil
}

func (r *reader) resolved(queries []sdk.Query, answers map[partition]answer) ([]sdk.Resolved, error) {
	list := make([]sdk.Resolved, 0, len(queries))
	for _, q := range queries {
		p := partition{q.Stream.Topic, q.Stream.Partition}
		id, _, _, ok := r.cluster.identify(p)
		if !ok { // deleted, or the broker that was asked has not heard of it yet
			return nil, sdk.Errorf(sdk.KindRetryable, "resolve "+q.Stream.String(), "the brokers do not know the topic at the moment")
		}
		if id != q.Stream {
			r.wantMetadata() // so that the stream that it is now gets announced
			return nil, notAssigned("resolve", q.Stream)
		}
		a := answers[p]
		if a.err != nil || a.position < 0 {
			return nil, sdk.Errorf(sdk.KindRetryable, "resolve "+q.Stream.String(), "the broker gave no position: %w", a.err)
		}
		list = append(list, sdk.Resolved{Stream: q.Stream, Position: a.position})
	}
	return list, nil
}
