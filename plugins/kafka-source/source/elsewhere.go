package source

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// elsewhere is what the group's other members have. A host that is to end once
// it has caught up waits until they have committed what was there, too: among
// them is a member that was killed, whose partitions nobody reads before its
// session is over.
type elsewhere struct {
	mu sync.Mutex
	// joined: the group has given this member partitions. Before that all seem
	// to be others'.
	joined bool
	// leaving are partitions that are being given up.
	leaving map[partition]bool
	// ends is where partitions ended when they were first seen elsewhere, and
	// done whether the group has committed that.
	ends map[incarnated]int64
	done map[incarnated]bool
}

// incarnated is a partition of one topic, not of another of that name.
type incarnated struct {
	partition
	id [16]byte
}

func newElsewhere() *elsewhere {
	return &elsewhere{leaving: map[partition]bool{}, ends: map[incarnated]int64{}, done: map[incarnated]bool{}}
}

func (e *elsewhere) join() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.joined = true
}

// leave notes that partitions are about to be others', or no longer about to.
func (e *elsewhere) leave(parts map[string][]int32, leaving bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for topic, nums := range parts {
		for _, n := range nums {
			if p := (partition{topic, n}); leaving {
				e.leaving[p] = true
			} else {
				delete(e.leaving, p)
			}
		}
	}
}

// behind lists the partitions that are not this member's and of which the group
// may not have committed yet what was there.
func (r *reader) behind() (list []incarnated) {
	if r.set.storeManaged() {
		return nil
	}
	topics := r.cluster.current()
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	if !r.others.joined {
		return nil
	}
	for name, info := range topics {
		for n := range info.leaders {
			x := incarnated{partition{name, n}, info.id}
			if r.others.done[x] {
				continue
			}
			owned, announced := r.table.owns(x.partition)
			_, seen := r.others.ends[x]
			// What comes from another member is behind until the host has it.
			if r.others.leaving[x.partition] || !owned || seen && !announced {
				list = append(list, x)
			}
		}
	}
	slices.SortFunc(list, func(a, b incarnated) int { return comparePartitions(a.partition, b.partition) })
	return list
}

const othersEvery = time.Second

// watchOthers finds out how far others are, until each has committed what was
// there, and tells the host.
func (r *reader) watchOthers(ctx context.Context) {
	for {
		var again <-chan time.Time
		if parts := r.behind(); len(parts) > 0 {
			if err := r.lookAtOthers(ctx, parts); err != nil {
				r.log.Debug("look at what other members have committed", "error", err)
			}
			r.tellTopicsAgain()
			again = time.After(othersEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.othersWanted:
		case <-again:
		}
	}
}

// lookAtOthers compares what the group has committed of parts with where they
// ended when this member first asked.
func (r *reader) lookAtOthers(ctx context.Context, parts []incarnated) error {
	ctx, cancel := context.WithTimeout(ctx, metadataAttempt)
	defer cancel()
	starts, err := r.bounds(ctx, parts)
	if err != nil {
		return err
	}
	held, err := r.held(ctx)
	if err != nil {
		return err
	}
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	for _, x := range parts {
		end, known := r.others.ends[x]
		at := starts[x.partition]
		if o, ok := held[x.partition]; ok && sameTopic(o.meta.incarnation(incarnation(x.id)), incarnation(x.id)) {
			at = max(at, o.position)
		}
		r.others.done[x] = known && at >= end
	}
	return nil
}

// bounds asks where parts begin, and where those end of which that is not
// known yet.
func (r *reader) bounds(ctx context.Context, parts []incarnated) (starts map[partition]int64, err error) {
	first, last := make(map[partition]int64), make(map[partition]int64)
	r.others.mu.Lock()
	for _, x := range parts {
		first[x.partition] = atEarliest
		if _, known := r.others.ends[x]; !known {
			last[x.partition] = atLatest
		}
	}
	r.others.mu.Unlock()
	begin, err := listOffsets(ctx, r.client, first)
	if err != nil {
		return nil, err
	}
	ends := map[partition]answer{}
	if len(last) > 0 {
		if ends, err = listOffsets(ctx, r.client, last); err != nil {
			return nil, err
		}
	}
	starts = make(map[partition]int64)
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	for _, x := range parts {
		starts[x.partition] = sdk.NoPosition
		if a := begin[x.partition]; a.err == nil {
			starts[x.partition] = a.position
		}
		if a, asked := ends[x.partition]; asked && a.err == nil && a.position >= 0 {
			r.others.ends[x] = a.position
		}
	}
	return starts, nil
}

// elsewhereTopic says that a topic is not all read yet. parts are behind, and
// all of that topic.
func (r *reader) elsewhereTopic(parts []incarnated) sdk.Topic {
	which := fmt.Sprintf("partition %d is", parts[0].num)
	if n := len(parts) - 1; n > 0 {
		which = fmt.Sprintf("partitions %d and %d more are", parts[0].num, n)
	}
	return sdk.Topic{Name: parts[0].topic, Presence: sdk.TopicPending, Reason: fmt.Sprintf(
		"%s another member's of group %q, maybe of one that died and that the group has not given up yet, and what was there is not committed", which, r.set.Group)}
}
