package source

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
)

// groupCallbacks are what the client calls when the group's assignment
// changes, one at a time. It joins no new generation before they return.
type groupCallbacks struct {
	assigned, revoked, lost func(context.Context, *kgo.Client, map[string][]int32)
	// shared comes before the others when partitions were shared out eagerly.
	shared func(mine map[string][]int32)
}

func (r *reader) groupCallbacks(ctx context.Context) groupCallbacks {
	return groupCallbacks{
		assigned: func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			if len(parts) > 0 {
				r.table.assign(parts)
				r.others.join()
				r.wantAnnouncement()
				wake(r.othersWanted)
			}
		},
		revoked: func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { r.revoked(ctx, parts) },
		lost: func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			r.givingUp(ctx, parts)
			r.lost(parts, "the group membership was lost, joining again")
			r.givenUp(parts)
		},
		shared: func(mine map[string][]int32) {
			r.lost(r.table.others(mine), "the group shares out its partitions eagerly now, and others have some of them")
		},
	}
}

// revoked gives the host time to make durable and commit what is in flight,
// while commits are served. When it returns, no commit of these partitions is
// under way or will follow.
func (r *reader) revoked(ctx context.Context, parts map[string][]int32) {
	if len(parts) == 0 {
		return
	}
	r.announcing.Lock() // the host hears of a stream before it hears of its end
	runs := r.table.halt(parts)
	r.announcing.Unlock()
	r.givingUp(ctx, parts)
	defer r.givenUp(parts)
	deadline := time.Now().Add(r.set.RevokeTimeout)
	if len(runs) > 0 && ctx.Err() == nil {
		wait, cancel := context.WithDeadline(ctx, deadline)
		err := r.events.Revoking(wait, runs, deadline)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.log.Warn("partitions were revoked before the host had finished with them", "runs", len(runs), "error", err)
		}
	}
	r.table.remove(parts)
	r.commits.wait()
}

// givingUp tells the host, before it forgets partitions, that others have to
// read them on: otherwise it could think that it has caught up.
func (r *reader) givingUp(ctx context.Context, parts map[string][]int32) {
	if ctx.Err() == nil { // else the source is being closed
		r.others.leave(parts, true)
		r.tellTopicsAgain()
	}
}

func (r *reader) givenUp(parts map[string][]int32) {
	r.others.leave(parts, false)
	wake(r.othersWanted)
}

// lost ends runs of which the group has already disposed.
func (r *reader) lost(parts map[string][]int32, why string) {
	r.announcing.Lock()
	runs := r.table.remove(parts)
	r.announcing.Unlock()
	if len(runs) > 0 {
		r.log.Warn(why, "runs", len(runs))
		r.events.Lost(runs)
	}
}

const announceRetry = 500 * time.Millisecond

// announce tells the host about new assignments, with what the group has
// committed. It tries again until that is known.
func (r *reader) announce(ctx context.Context) {
	for {
		var retry <-chan time.Time
		if parts := r.table.unannounced(); len(parts) > 0 {
			done, err := r.announceThese(ctx, parts)
			if err != nil && ctx.Err() == nil {
				r.warn("cannot read the topics, or what the group has committed, trying again", "", "group", r.set.Group, "error", err)
			}
			if !done {
				retry = time.After(announceRetry)
			}
			r.tellTopicsAgain() // the host has them now
		}
		select {
		case <-ctx.Done():
			return
		case <-r.announceWanted:
		case <-retry:
		}
	}
}

// announceThese announces what it can of parts; done: that was all.
func (r *reader) announceThese(ctx context.Context, parts []partition) (done bool, err error) {
	missing, err := r.cluster.refresh(ctx)
	if err != nil {
		return false, err
	}
	r.survey(missing)
	r.wantMetadata() // whoever leads the new partitions must be fetched from
	held, err := r.held(ctx)
	if err != nil {
		return false, err
	}
	r.announcing.Lock()
	defer r.announcing.Unlock()
	var list []sdk.Assignment
	done = true
	for _, p := range parts {
		id, topicID, count, ok := r.cluster.identify(p)
		if !ok || !r.hasPartition(p) {
			done = false // the topic is not there (any more, or yet)
			continue
		}
		parts := r.partsAtFirst(id, held, count)
		if r.table.announce(p, id, topicID, parts) {
			list = append(list, r.assignment(p, id, held, parts))
		}
	}
	if len(list) == 0 {
		return done, nil
	}
	return done, r.events.Assigned(ctx, list)
}

// held is what the group has committed; nothing where there is no group.
func (r *reader) held(ctx context.Context) (committedOffsets, error) {
	if r.set.storeManaged() {
		return nil, nil
	}
	return fetchCommitted(ctx, r.client, r.set.Group, r.cluster.current())
}

// partsAtFirst is how many partitions the stream's topic had when it was first
// read. Without a group that is known only since this source was opened. The
// caller holds announcing.
func (r *reader) partsAtFirst(id sdk.Stream, held committedOffsets, count int) int {
	switch {
	case r.recreated[id.Topic]:
		return 0
	case r.set.storeManaged():
		return r.firstParts[id.Topic]
	}
	return held.firstParts(id, count)
}

// assignment says what the group knows about a stream. A partition that was
// added after the group's first run, also with a topic that was created anew,
// begins at its first record whatever start says: nobody decided to leave its
// records out.
func (r *reader) assignment(p partition, id sdk.Stream, held committedOffsets, parts int) sdk.Assignment {
	a := sdk.Assignment{Stream: id, Committed: sdk.NoPosition, Initial: sdk.StartEarliest}
	if o, ok := held[p]; ok {
		a.Committed, a.CommittedIncarnation, a.Marked = o.position, o.meta.incarnation(id.Incarnation), o.meta.Version != 0
	}
	if r.set.Start == "latest" && int(p.num) < parts {
		a.Initial = sdk.StartLatest
	}
	return a
}
