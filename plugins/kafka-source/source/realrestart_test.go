//go:build services

package source

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/services/kafka"
)

// TestRealBrokerRestart: the only broker is killed and started again, then
// stopped and started again, while records are written and read. Nothing is
// missing afterwards, nothing was committed before it was delivered, and the
// group is at the end.
func TestRealBrokerRestart(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			c, b := ownBrokers(t, 1)
			node := c.Node(0)
			underLoad(t, b, protocol, "g", 1, func(t *testing.T) {
				node.Kill()
				if err := node.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}, func(t *testing.T) {
				if err := node.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := node.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestRealCoordinatorLoss: the broker that coordinates the group and leads
// half of the partitions is killed; the other takes over. Then it comes back.
func TestRealCoordinatorLoss(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			c, _ := ownBrokers(t, 2)
			b := connect(t, []string{c.Node(0).Addr()})
			var victim *kafka.Node
			// The first broker is the controller, so it is the second's group.
			group := "g0"
			for n := 1; b.coordinator(group) != 2; n++ {
				group = fmt.Sprint("g", n)
			}
			underLoad(t, b, protocol, group, 2, func(t *testing.T) {
				victim = c.Node(1)
				victim.Kill()
				b.poll("another coordinator", func() bool { return b.coordinator(group) == 1 })
			}, func(t *testing.T) {
				if err := victim.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// coordinator is the broker that coordinates a group; -1: none is known.
func (b *broker) coordinator(group string) int32 {
	found := b.admin.FindGroupCoordinators(context.Background(), group)
	if c := found[group]; c.Err == nil {
		return c.NodeID
	}
	return -1
}

// underLoad reads a topic that is written to without end, lets each of what
// happen, waits after each until records flow and are committed again, and
// checks what was delivered.
func underLoad(t *testing.T, b *broker, protocol, group string, replicas int16, what ...func(*testing.T)) {
	const topic, parts = "t", 2
	if _, err := b.admin.CreateTopic(t.Context(), parts, replicas, nil, topic); err != nil {
		t.Fatal(err)
	}
	all := new(delivered)
	h := newHost(t)
	h.onBatch, h.brokersGo = all.add, true
	set := b.member(protocol, topic)
	set.Group = group
	h.open(set)
	var w writer
	w.start(t, b, topic, parts)
	defer w.stop()
	b.poll("records in all partitions", func() bool { return len(w.ends()) == parts })
	for i, f := range what {
		untilCommittedPast(b, group, topic, parts, w.ends())
		f(t)
		t.Logf("%d of %d has happened", i+1, len(what))
	}
	untilCommittedPast(b, group, topic, parts, w.ends())
	w.stop()
	ends := w.ends()
	untilCommittedPast(b, group, topic, parts, ends)
	for p := range int32(parts) {
		all.check(p, ends[p])
	}
	for _, err := range all.errs {
		t.Error(err)
	}
}

func untilCommittedPast(b *broker, group, topic string, parts int, want map[int32]int64) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 180*time.Second)
	defer cancel()
	at := map[int32]int64{}
	for {
		held, err := b.fetchAnew(ctx, group)
		if err == nil {
			ok := true
			for p := range int32(parts) {
				o, _ := held.Lookup(topic, p)
				at[p] = o.At
				ok = ok && at[p] >= want[p]
			}
			if ok {
				return
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			b.t.Fatalf("committed %v (%v), want %v, after 60 s", at, err, want)
		}
	}
}

// fetchAnew asks with a client of its own: one that has talked to a coordinator
// goes on asking that one for long after it has died.
func (b *broker) fetchAnew(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return kadm.NewClient(client).FetchOffsets(ctx, group)
}

// writer writes small records until it is stopped, and keeps where they stand.
type writer struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	next   map[int32]int64
}

func (w *writer) start(t *testing.T, b *broker, topic string, parts int32) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(t.Context())
	w.next = make(map[int32]int64)
	w.wg.Go(func() {
		defer client.Close()
		for n := 0; ctx.Err() == nil; n++ {
			r := &kgo.Record{Topic: topic, Partition: int32(n) % parts, Value: fmt.Appendf(nil, "%d", n)}
			if err := client.ProduceSync(context.WithoutCancel(ctx), r).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			w.mu.Lock()
			w.next[r.Partition] = r.Offset + 1
			w.mu.Unlock()
			pause(ctx, 2*time.Millisecond)
		}
	})
}

func (w *writer) stop() {
	w.cancel()
	w.wg.Wait()
}

// ends is where the partitions end at least.
func (w *writer) ends() map[int32]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[int32]int64)
	for p, n := range w.next {
		out[p] = n
	}
	return out
}
