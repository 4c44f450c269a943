package source

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// epochEnd is where a leader's log leaves an epoch: the largest that it has up
// to the one that was asked for.
type epochEnd struct {
	epoch int32
	end   int64
}

// diverged takes a broker's word that its log is not the one that x was read
// from, and finds out from where on. first is its answer to x's last epoch.
func (r *reader) diverged(ctx context.Context, x *run, first epochEnd) (part, bool) {
	at, err := cutAt(x.epochs, x.next, first, func(epoch int32) (epochEnd, error) { return r.endOfEpoch(ctx, x, epoch) })
	if err != nil || at >= x.next {
		r.warn("the broker's log differs from what was read, finding out from where on", x.stream.String(), "stream", x.stream.String(), "position", x.next, "error", err)
		r.table.retryLater(x, fetchBackoff)
		r.wantMetadata()
		return part{}, false
	}
	return r.gapAt(x, at, sdk.GapDiverged, "the broker's log was cut and filled anew from there on")
}

// cutAt is the first position whose record is another one than was read. Two
// logs agree in an epoch as far as both have it: only its leader wrote it. So
// the newest epoch of those that were read is looked for that the log has.
func cutAt(h history, next int64, answer epochEnd, ask func(epoch int32) (epochEnd, error)) (int64, error) {
	for i := len(h) - 1; i >= 0; i-- {
		if answer.epoch > h[i].epoch { // one that was not read
			var err error
			if answer, err = ask(h[i].epoch); err != nil {
				return 0, err
			}
		}
		if answer.epoch == h[i].epoch {
			return min(answer.end, next), nil
		}
		next = h[i].from
	}
	return min(answer.end, next), nil // what is before is not known
}

// endOfEpoch asks the leader of x where its log leaves an epoch.
func (r *reader) endOfEpoch(ctx context.Context, x *run, epoch int32) (epochEnd, error) {
	l, ok := r.cluster.leader(x)
	if !ok {
		return epochEnd{}, fmt.Errorf("end of leader epoch %d: no leader is known", epoch)
	}
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = x.stream.Topic
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = x.stream.Partition, l.epoch, epoch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := r.client.Broker(int(l.broker)).Request(ctx, req)
	if err != nil {
		return epochEnd{}, fmt.Errorf("end of leader epoch %d: %w", epoch, err)
	}
	for _, t := range resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return epochEnd{}, fmt.Errorf("end of leader epoch %d: %w", epoch, err)
			}
			return epochEnd{p.LeaderEpoch, p.EndOffset}, nil
		}
	}
	return epochEnd{}, fmt.Errorf("end of leader epoch %d: the broker did not answer", epoch)
}
