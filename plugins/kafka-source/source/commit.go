package source

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
)

// turns lets one commit through at a time: two requests on different
// connections could otherwise overtake each other.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) give() { <-t }

// wait returns once what is under way is over.
func (t turns) wait() {
	t <- struct{}{}
	<-t
}

const (
	commitRetry   = 100 * time.Millisecond
	commitRetries = 50 // about five seconds: a rebalance is over by then, or a longer one is
	commitTimeout = 10 * time.Second
)

// commit stores marks with the group, all in one request, and asks again for
// those that a rebalance or a move of the coordinator kept out.
func (r *reader) commit(ctx context.Context, marks []sdk.Mark) []error {
	errs := make([]error, len(marks))
	pending := make([]int, len(marks))
	for i := range marks {
		pending[i] = i
	}
	if err := r.commits.take(ctx); err != nil {
		fill(errs, pending, sdk.Errorf(sdk.KindRetryable, "commit", "%w", err))
		return errs
	}
	defer r.commits.give()
	for attempt := 0; len(pending) > 0; attempt++ {
		pending = r.commitOnce(ctx, marks, pending, errs)
		if len(pending) > 0 && (attempt == commitRetries || !pause(ctx, commitRetry)) {
			break // errs says why
		}
	}
	for _, err := range errs {
		if err != nil {
			return errs
		}
	}
	return nil
}

// commitOnce tries the pending marks and returns those to be tried again.
func (r *reader) commitOnce(ctx context.Context, marks []sdk.Mark, pending []int, errs []error) (again []int) {
	for _, i := range pending {
		errs[i] = nil
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = r.set.Group
	if r.set.storeManaged() {
		r.answerMarks(marks, pending, errs)
		return nil
	}
	list := r.table.admit(marks, pending, errs, func() {
		req.MemberID, req.Generation = r.client.GroupMetadata()
	})
	if len(list) == 0 {
		return nil
	}
	addMarks(req, list)
	faultpoint.Hit("commit")
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		for _, c := range list {
			errs[c.index] = sdk.Errorf(sdk.KindRetryable, "commit "+c.mark.Stream.String(), "%w", err)
			again = append(again, c.index)
		}
		return again
	}
	faultpoint.Hit("committed")
	return r.readCommit(resp, list, errs)
}

func addMarks(req *kmsg.OffsetCommitRequest, list []committable) {
	topics := make(map[string]int)
	for _, c := range list {
		i, ok := topics[c.mark.Stream.Topic]
		if !ok {
			i = len(req.Topics)
			topics[c.mark.Stream.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = c.mark.Stream.Topic, c.topicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = c.mark.Stream.Partition, c.mark.Next
		p.Metadata = kmsg.StringPtr(metadata{Incarnation: c.incarnation, Parts: c.parts}.String())
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
}

// readCommit notes what became of each mark.
func (r *reader) readCommit(resp *kmsg.OffsetCommitResponse, list []committable, errs []error) (again []int) {
	codes := make(map[partition]int16)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[responseCommitKey(&t, p.Partition)] = p.ErrorCode
		}
	}
	for _, c := range list {
		s := c.mark.Stream
		code, ok := codes[partition{string(c.topicID[:]), s.Partition}]
		if !ok {
			code, ok = codes[partition{s.Topic, s.Partition}]
		}
		err := kerr.ErrorForCode(code)
		if !ok {
			err = errors.New("the coordinator did not answer for it")
		}
		if err == nil {
			r.table.noteCommitted(c.mark)
			continue
		}
		kind, retry := judgeCommit(err)
		errs[c.index] = commitError(kind, s, err)
		if errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition) {
			r.wantMetadata() // the topic may be another one by now
		}
		if retry {
			again = append(again, c.index)
		}
	}
	return again
}

func responseCommitKey(t *kmsg.OffsetCommitResponseTopic, p int32) partition {
	if t.TopicID != ([16]byte{}) {
		return partition{string(t.TopicID[:]), p}
	}
	return partition{t.Topic, p}
}

func commitError(kind sdk.Kind, s sdk.Stream, err error) error {
	e := sdk.Errorf(kind, "commit "+s.String(), "%w", err)
	e.Scope = sdk.ScopeRun
	return e
}

// judgeCommit says what can be done about the coordinator's answer.
func judgeCommit(err error) (kind sdk.Kind, retry bool) {
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.FencedInstanceID), errors.Is(err, kerr.FencedMemberEpoch):
		// This member is not in the group. The runs are about to be lost.
		return sdk.KindFenced, false
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
		// The topic is another one, and the runs are about to be lost; or the
		// coordinator has not heard of it yet, and this member still owns it: a
		// host that was told otherwise would not start the stream again.
		return sdk.KindRetryable, false
	case errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed),
		errors.Is(err, kerr.OffsetMetadataTooLarge), errors.Is(err, kerr.InvalidGroupID):
		return sdk.KindFatal, false
	case errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.StaleMemberEpoch):
		// A rebalance: the next attempt carries the new generation, if the
		// stream is still assigned then.
		return sdk.KindRetryable, true
	}
	return sdk.KindRetryable, kerr.IsRetriable(err)
}

func fill(errs []error, at []int, err error) {
	for _, i := range at {
		errs[i] = err
	}
}

// pause waits for d; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
