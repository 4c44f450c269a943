//go:build services

package storage

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/test/services/kafka"
)

// A leader dies with records that the follower, which was away, does not have,
// and the follower is elected all the same: its log is cut there and filled
// anew. Whoever was reading, and whoever was not, finds out; by default they
// halt, and as configured they read on from the cut as another stream.
func TestUncleanElection(t *testing.T) {
	c, err := kafka.Start(t.Context(), kafka.Config{Brokers: 3, Settings: map[string]string{
		"offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := replicated(t, c, "orders", 3, 2)
	p.produce("old", 100)
	p.untilReplicated(t, 2, 3)
	c.Node(1).Kill() // the follower, broker 2
	p.untilInSync(1)
	p.produce("lost", 50)

	db := newDatabase(t)
	readers := []*reader{
		{group: "running-parquet", s: directory(filepath.Join(t.TempDir(), "running")), change: goOn},
		{group: "away-parquet", s: directory(filepath.Join(t.TempDir(), "away")), change: goOn, away: true},
		{group: "away-postgres", s: db, change: goOn, away: true},
	}
	halts := &reader{group: "halts", s: directory(filepath.Join(t.TempDir(), "halts"))}
	for _, r := range append(readers, halts) {
		r.h = run(t, p.as(r.group), r.s, r.change)
	}
	for _, r := range append(readers, halts) {
		r.h.untilCommitted(150)
		if r.away {
			r.h.stop()
		}
	}
	incarnation := readers[0].h.pipe.Status().Streams[0].Stream.Incarnation

	c.Node(2).Kill() // the leader
	if err := c.Node(1).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.untilLeader(2)
	p.connect(c.Addrs())
	p.produce("new", 30)

	if err := halts.h.ended(); err == nil || !strings.Contains(err.Error(), "from position 100 on") {
		t.Errorf("by default: %v", err)
	}
	old := append(words("old", 100), words("lost", 50)...)
	want(t, halts.s, incarnation, 0, old...)
	goOnTwice(t, p, readers)
	for _, r := range readers {
		r.h.untilCommitted(170)
		want(t, r.s, incarnation, 0, old...)
		want(t, r.s, incarnation+"~1", 100, append(words("new", 30), words("more", 40)...)...)
		if _, meta := r.h.topic.committed(); !strings.Contains(meta, incarnation+"~1") {
			t.Errorf("%s: committed with %s", r.group, meta)
		}
		r.h.stop()
	}
}

// reader is one pipeline that reads the topic.
type reader struct {
	group  string
	s      store
	change func(*pipeline.Config)
	away   bool // while the log is cut
	h      *host
}

func goOn(cfg *pipeline.Config) { cfg.OnDivergence = pipeline.DivergenceNewIncarnation }

// goOnTwice: who was away begins, then all begin again.
func goOnTwice(t *testing.T, p *topic, readers []*reader) {
	t.Helper()
	for round, n := range []int64{130, 150} {
		for _, r := range readers {
			if r.away || round > 0 {
				r.h.cancel()
				if err := r.h.ended(); err != nil {
					t.Fatalf("%s: %v", r.group, err)
				}
				r.h = run(t, p.as(r.group), r.s, r.change)
			}
		}
		for _, r := range readers {
			r.h.untilCommitted(n)
		}
		p.produce("more", 20)
	}
}

// replicated makes a topic of one partition whose replicas are told, and whose
// leader may be elected from those that are not in sync.
func replicated(t *testing.T, c *kafka.Cluster, name string, replicas ...int32) *topic {
	t.Helper()
	p := &topic{t: t, name: name}
	p.connect(c.Addrs())
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = replicas
	rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	unclean, yes := kmsg.NewCreateTopicsRequestTopicConfig(), "true"
	unclean.Name, unclean.Value = "unclean.leader.election.enable", &yes
	rt.Configs = append(rt.Configs, unclean)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 30_000
	resp, err := req.RequestWith(t.Context(), p.client)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.Topics[0].ErrorCode; code != 0 {
		t.Fatalf("create topic: error %d, %v", code, resp.Topics[0].ErrorMessage)
	}
	return p
}

// untilReplicated waits until brokers have the same of the log.
func (p *topic) untilReplicated(t *testing.T, brokers ...int32) {
	t.Helper()
	poll(t, "the log at all replicas", func() bool {
		dirs, err := p.admin.DescribeBrokerLogDirs(t.Context(), brokers[0], nil)
		other, err2 := p.admin.DescribeBrokerLogDirs(t.Context(), brokers[1], nil)
		if err != nil || err2 != nil {
			return false
		}
		a, _ := dirs.LookupPartition(p.name, 0)
		b, _ := other.LookupPartition(p.name, 0)
		return a.Size > 0 && a.Size == b.Size
	})
}

func (p *topic) untilInSync(n int) {
	p.t.Helper()
	p.until("replicas in sync", func(leader int32, isr []int32) bool { return len(isr) == n })
}

func (p *topic) untilLeader(id int32) {
	p.t.Helper()
	p.until("leader", func(leader int32, isr []int32) bool { return leader == id && slices.Contains(isr, id) })
}

func (p *topic) until(what string, ok func(leader int32, isr []int32) bool) {
	p.t.Helper()
	poll(p.t, what, func() bool {
		ts, err := p.admin.ListTopics(p.t.Context(), p.name)
		if err != nil || len(ts[p.name].Partitions) == 0 {
			return false
		}
		x := ts[p.name].Partitions[0]
		return ok(x.Leader, x.ISR)
	})
}
