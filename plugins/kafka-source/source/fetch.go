package source

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
)

// chunk is what one Fetch response brought, on its way to the sender.
type chunk struct {
	parts []part
	bytes int64 // of the budget
}

// part is one run's piece of a chunk. next is the position behind it.
type part struct {
	run     *run
	next    int64
	batches []byte
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
	gap     *sdk.Gap
}

// fetchFrom fetches from one broker what it leads, as long as ctx lives. One
// fetch is under way while the last one is being sent.
func (r *reader) fetchFrom(ctx context.Context, broker int32) {
	for ctx.Err() == nil {
		runs := r.nextRuns(ctx, broker)
		if runs == nil {
			return
		}
		bytes := r.reserve(ctx)
		if bytes == 0 {
			r.table.release(runs)
			return
		}
		c, err := r.fetch(ctx, broker, runs, bytes)
		if err != nil {
			r.fetchFailed(ctx, broker, runs, err)
			c = chunk{}
		}
		r.budget.add(c.bytes - bytes)
		if !r.handOver(ctx, c) {
			r.budget.add(-c.bytes)
		}
		r.table.release(runs)
	}
}

// nextRuns waits for runs that the broker leads; nil: ctx has ended.
func (r *reader) nextRuns(ctx context.Context, broker int32) []*run {
	for {
		changed := r.table.watch()
		runs, wait := r.table.take(func(x *run) bool {
			l, ok := r.cluster.leader(x)
			return ok && l.broker == broker
		})
		if len(runs) > 0 {
			return runs
		}
		var retry <-chan time.Time
		if wait > 0 {
			retry = time.After(wait)
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return nil
		}
	}
}

// reserve waits for credit; zero: ctx has ended.
func (r *reader) reserve(ctx context.Context) int64 {
	for {
		credit, err := r.events.WaitCredit(ctx)
		if err != nil || ctx.Err() != nil {
			return 0
		}
		n, changed := r.budget.reserve(credit, int64(r.set.FetchMaxBytes))
		if n > 0 {
			return n
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0
		}
	}
}

// handOver gives the chunk to the sender.
func (r *reader) handOver(ctx context.Context, c chunk) bool {
	if len(c.parts) == 0 {
		return c.bytes == 0
	}
	select {
	case r.chunks <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// fetch makes one request.
func (r *reader) fetch(ctx context.Context, broker int32, runs []*run, bytes int64) (chunk, error) {
	req := r.fetchRequest(runs, bytes)
	resp, err := r.client.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		return chunk{}, err
	}
	faultpoint.Hit("poll")
	fetched := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(fetched.ErrorCode); err != nil {
		return chunk{}, err
	}
	return r.readResponse(ctx, fetched, runs), nil
}

func (r *reader) fetchRequest(runs []*run, bytes int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(r.set.FetchMaxWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = int32(bytes)
	req.IsolationLevel = 1 // read_committed
	topics := make(map[[16]byte]int)
	for _, x := range runs {
		i, ok := topics[x.topicID]
		if !ok {
			i = len(req.Topics)
			topics[x.topicID] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = x.stream.Topic, x.topicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = x.stream.Partition
		if l, ok := r.cluster.leader(x); ok {
			p.CurrentLeaderEpoch = l.epoch
		}
		p.FetchOffset = x.next
		p.LastFetchedEpoch = x.epochs.last()
		p.PartitionMaxBytes = int32(min(bytes, int64(r.set.PartitionMaxBytes)))
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

const fetchBackoff = 200 * time.Millisecond

// fetchFailed keeps the runs back for a moment and asks who leads them now.
func (r *reader) fetchFailed(ctx context.Context, broker int32, runs []*run, err error) {
	if ctx.Err() != nil {
		return
	}
	r.warn("fetch failed, trying again", strconv.Itoa(int(broker)), "broker", broker, "error", err)
	for _, x := range runs {
		r.table.retryLater(x, fetchBackoff)
	}
	r.wantMetadata()
}
