package source

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestChurn: members come, go, and are thrown out, while leaders move and
// records are written. Every record is delivered, and no position is
// committed ahead of what was delivered.
func TestChurn(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { t.Parallel(); testChurn(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func testChurn(t *testing.T, rng *rand.Rand) {
	b := newBroker(t, kfake.NumBrokers(2))
	const parts, perRound, rounds = 5, 40, 12
	b.create(parts, "t", nil)
	all := new(delivered)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		for _, topic := range r.(*kmsg.OffsetCommitRequest).Topics {
			for _, p := range topic.Partitions {
				all.check(p.Partition, p.Offset)
			}
		}
		return true
	}})
	var members []*host
	for round := range rounds {
		for p := range int32(parts) {
			b.fill("t", p, round*perRound, perRound)
		}
		members = churn(t, b, rng, members, all, round)
		all.until(t, parts*perRound*(round+1)*3/4, members)
	}
	all.until(t, parts*perRound*rounds, members)
	for p := range int32(parts) {
		b.untilCommitted("g", "t", p, perRound*rounds)
	}
	for _, err := range all.errs {
		t.Error(err)
	}
}

// churn lets something happen to the group.
func churn(t *testing.T, b *broker, rng *rand.Rand, members []*host, all *delivered, round int) []*host {
	switch n := rng.IntN(4); {
	case len(members) == 0 || n == 0 && len(members) < 3:
		h := newHost(t)
		h.name, h.onBatch = fmt.Sprintf("member %d", round), all.add
		return append(members, h.open(b.settings("g", "t")))
	case n == 1 && len(members) > 1:
		i := rng.IntN(len(members))
		members[i].close()
		return append(members[:i:i], members[i+1:]...)
	case n == 2:
		b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, TopLevel: true, Err: kerr.UnknownMemberID, Count: 1})
	default:
		b.ShufflePartitionLeaders()
		b.RehashCoordinators()
	}
	return members
}

// delivered is what all members have got together.
type delivered struct {
	mu   sync.Mutex
	got  map[int32]map[int64]bool
	rows int
	errs []error
}

func (d *delivered) add(rows []row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.got == nil {
		d.got = make(map[int32]map[int64]bool)
	}
	for _, r := range rows {
		p := r.stream.Partition
		if d.got[p] == nil {
			d.got[p] = make(map[int64]bool)
		}
		if !d.got[p][r.position] {
			d.rows++
		}
		d.got[p][r.position] = true
	}
}

// check finds a commit that is ahead of what was delivered.
func (d *delivered) check(part int32, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range at {
		if !d.got[part][i] {
			d.errs = append(d.errs, fmt.Errorf("partition %d was committed at %d, but %d was not delivered", part, at, i))
			return
		}
	}
}

func (d *delivered) until(t *testing.T, n int, members []*host) {
	t.Helper()
	(&broker{t: t}).poll(fmt.Sprintf("%d records from %d members", n, len(members)), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.rows >= n
	})
}
