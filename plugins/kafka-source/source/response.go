package source

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/plugins/kafka-source/recordbatch"
	"github.com/twg-io/twg/sdk"
)

// readResponse sorts a Fetch response by runs and notes where each goes on.
func (r *reader) readResponse(ctx context.Context, resp *kmsg.FetchResponse, runs []*run) chunk {
	var c chunk
	total := 0
	byTopic := make(map[partition]*kmsg.FetchResponseTopicPartition)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			byTopic[responseKey(t, p.Partition)] = p
			total += len(p.RecordBatches)
		}
	}
	for _, x := range runs {
		p := byTopic[partition{string(x.topicID[:]), x.stream.Partition}]
		if p == nil {
			p = byTopic[partition{x.stream.Topic, x.stream.Partition}]
		}
		if p == nil {
			continue // a broker leaves out what it had no room for
		}
		if got, ok := r.readPartition(ctx, x, p, total); ok {
			c.parts = append(c.parts, got)
		}
	}
	c.bytes = int64(total)
	return c
}

// responseKey names a partition as the response does: by topic id, or by
// name before version 13.
func responseKey(t *kmsg.FetchResponseTopic, p int32) partition {
	if t.TopicID != ([16]byte{}) {
		return partition{string(t.TopicID[:]), p}
	}
	return partition{t.Topic, p}
}

// readPartition takes what a response says of one run; false: nothing that
// the sender has to know.
func (r *reader) readPartition(ctx context.Context, x *run, p *kmsg.FetchResponseTopicPartition, total int) (part, bool) {
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return r.partitionFailed(ctx, x, err)
	}
	if p.DivergingEpoch.EndOffset >= 0 {
		return r.diverged(ctx, x, epochEnd{p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset})
	}
	epochs := x.epochs
	next, whole := recordbatch.Next(p.RecordBatches, x.next, func(epoch int32, first int64) { epochs = epochs.with(epoch, first) })
	switch {
	case whole > 0:
		r.table.progress(x, next, epochs)
	case len(p.RecordBatches) > 0:
		// Not one whole batch, or one that cannot be read: the sender says
		// which it is.
		r.table.retryLater(x, fetchBackoff)
		return part{run: x, next: x.next, batches: p.RecordBatches}, true
	case total == 0 && r.emptyTail(ctx, x, p):
		next = p.LastStableOffset
		r.table.progress(x, next, epochs)
	default:
		return part{}, false
	}
	return part{run: x, next: next, batches: p.RecordBatches[:whole], aborted: p.AbortedTransactions}, true
}

const tailBackoff = time.Second

// emptyTail reports whether there is nothing between a run's position and the
// end of its log: compaction may have removed all of it. An empty answer
// alone does not prove that, because a broker may also be waiting for a
// remote store; so the position must lie in the broker's own part of the log.
func (r *reader) emptyTail(ctx context.Context, x *run, p *kmsg.FetchResponseTopicPartition) bool {
	if p.LastStableOffset <= x.next {
		return false
	}
	key := partition{x.stream.Topic, x.stream.Partition}
	answers, err := listOffsets(ctx, r.client, map[partition]int64{key: atEarliestLocal})
	if err == nil {
		err = answers[key].err
	}
	if errors.Is(err, kerr.UnsupportedVersion) {
		return true // a broker without remote stores
	}
	if err == nil && answers[key].position >= 0 && answers[key].position <= x.next {
		return true
	}
	r.table.retryLater(x, tailBackoff)
	return false
}

// partitionFailed handles an error that the broker gave for one partition.
func (r *reader) partitionFailed(ctx context.Context, x *run, err error) (part, bool) {
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return r.outOfRange(ctx, x)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		r.events.Fail(sdk.Errorf(sdk.KindFatal, "fetch "+x.stream.String(), "the user may not read the topic: allow READ on it: %w", err))
	}
	r.warn("fetch failed, trying again", x.stream.String(), "stream", x.stream.String(), "position", x.next, "error", err)
	r.table.retryLater(x, fetchBackoff)
	r.wantMetadata()
	return part{}, false
}

// outOfRange makes a gap of a position that the log does not reach.
func (r *reader) outOfRange(ctx context.Context, x *run) (part, bool) {
	key := partition{x.stream.Topic, x.stream.Partition}
	first, err := listOffsets(ctx, r.client, map[partition]int64{key: atEarliest})
	last, err2 := listOffsets(ctx, r.client, map[partition]int64{key: atLatest})
	if err = errors.Join(err, err2, first[key].err, last[key].err); err != nil {
		r.warn("list offsets after an offset out of range, trying again", x.stream.String(), "stream", x.stream.String(), "error", err)
		r.table.retryLater(x, fetchBackoff)
		return part{}, false
	}
	switch from, end := first[key].position, last[key].position; {
	case x.next < from:
		return r.gapAt(x, from, sdk.GapOutOfRange, "retention or a deletion has removed the records before")
	case x.next > end:
		return r.gapAt(x, end, sdk.GapOutOfRange, "the log ends before it")
	}
	r.table.retryLater(x, fetchBackoff) // a leader that is not up to date
	r.wantMetadata()
	return part{}, false
}

// gapAt ends fetching for the run; the sender reports the gap behind what was
// fetched before.
func (r *reader) gapAt(x *run, available int64, cause sdk.GapCause, reason string) (part, bool) {
	if !r.table.stop(x) {
		return part{}, false
	}
	return part{run: x, next: x.next, gap: &sdk.Gap{
		Stream: x.stream, Run: x.id, Wanted: x.next, Available: available, Cause: cause, Reason: reason,
	}}, true
}
