package cases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/hostproc"
)

// A host dies with all its processes while another one runs to the end of the
// topic. The group takes the dead member for alive for a while; the run waits
// for the partition that nobody reads, and does not end without its records.
func TestUntilCaughtUpWaitsForADeadMember(t *testing.T) {
	w := newWorld(t, nil)
	if _, err := w.admin.CreatePartitions(t.Context(), 1, topic); err != nil {
		t.Fatal(err)
	}
	file := w.fileWith(`max_ack_delay = "10m"`, fmt.Sprintf("group = %q\n start = \"earliest\"\n session_timeout = \"6s\"\n heartbeat_interval = \"1s\"", group),
		fmt.Sprintf(`sink "parquet" "lake" {
    config {
      dir          = %q
      max_file_age = "10m"
    }
  }`, w.dir))
	dies := start(t, file)
	dies.Eventually("the first host has the topic", func() bool { return w.members() == 1 })
	sent := w.steadily(2)
	remember := w.forgetCommits() // else what is there could be committed when the partitions are shared anew
	ends := start(t, "--until-caught-up", file)
	ends.Eventually("the second has caught up with its own", func() bool { return strings.Contains(ends.Said(), "waiting for the rest") })
	killAll(t, dies)
	remember()
	records := sent()
	if code := ends.End(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, ends.Said())
	}
	rows := 0
	w.eachFile(func(f readback.File) { rows += len(f.Rows) })
	if rows != records {
		t.Errorf("%d rows of %d records\n%s", rows, records, ends.Said())
	}
	w.committedAll()
}

// forgetCommits has the broker forget what is committed, until end is called.
func (w *world) forgetCommits() (end func()) {
	var ended atomic.Bool
	w.broker.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if ended.Load() {
			return nil, nil, false
		}
		resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range r.(*kmsg.OffsetCommitRequest).Topics {
			forgotten := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
			for _, p := range t.Partitions {
				forgotten.Partitions = append(forgotten.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition})
			}
			resp.Topics = append(resp.Topics, forgotten)
		}
		return resp, nil, true
	})
	return func() { ended.Store(true) }
}

// steadily writes records to each partition, until it is asked how many.
func (w *world) steadily(parts int32) (stop func() int) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	written := make(chan int, 1)
	go func() {
		defer client.Close()
		n := 0
		last := false
		for tick := time.NewTicker(10 * time.Millisecond); !last; <-tick.C {
			last = ctx.Err() != nil // one more to each, so that each is committed once more
			for p := range parts {
				if client.ProduceSync(context.WithoutCancel(ctx), &kgo.Record{Partition: p, Value: fmt.Appendf(nil, "v%d", n)}).FirstErr() == nil {
					n++
				}
			}
		}
		written <- n
	}()
	return func() int {
		cancel()
		return <-written
	}
}

// members counts the members of the group that have a partition.
func (w *world) members() (n int) {
	w.t.Helper()
	groups, err := w.admin.DescribeGroups(w.t.Context(), group)
	if err != nil {
		return 0
	}
	for _, m := range groups[group].Members {
		if c, ok := m.Assigned.AsConsumer(); ok && len(c.Topics) > 0 {
			n++
		}
	}
	return n
}

// committedAll wants every partition to be committed to its end.
func (w *world) committedAll() {
	w.t.Helper()
	held, err := w.admin.FetchOffsets(w.t.Context(), group)
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := w.admin.ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	for p := range int32(2) {
		at, _ := held.Lookup(topic, p)
		end, _ := ends.Lookup(topic, p)
		if at.At != end.Offset || end.Offset == 0 {
			w.t.Errorf("partition %d: committed %d, it ends at %d", p, at.At, end.Offset)
		}
	}
}

// killAll kills a host and its plugins, so that no plugin can leave its group.
func killAll(t *testing.T, p *hostproc.Host) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		_, after, _ := strings.Cut(string(text), ") ")
		fmt.Sscan(string(text), &pid)
		fmt.Sscan(after, &state, &parent)
		if parent == p.Cmd.Process.Pid {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	p.Cmd.Process.Kill()
	p.End()
}
