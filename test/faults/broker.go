package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerMain is the harness's broker, run as a process of its own:
//
//	faults broker <topic> <partitions> <directory of the files> [<DSN>]
//
// It prints its address, and then a line a commit request, before it carries
// the request out: "commit <partition> <offset> <files>", where all files
// whose number is below <files> are visible. That is the
// exact moment at which everything below the offset must be in a file; no
// sampling can fall between. With a DSN it looks into the raw table instead, and
// prints "held <partition> <from> <offset> <positions>".
func brokerMain(args []string) error {
	if len(args) != 3 && len(args) != 4 {
		return fmt.Errorf("broker: want topic, partitions and directory, got %d arguments", len(args))
	}
	partitions, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("broker: partitions: %w", err)
	}
	c, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID("faults"),
		kfake.SeedTopics(int32(partitions), args[0]),
		kfake.GroupMinSessionTimeout(500*time.Millisecond),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(32 << 20)}),
	)
	if err != nil {
		return fmt.Errorf("start broker: %w", err)
	}
	defer c.Close()
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		// kfake leaves the list of aborted transactions out of a partition
		// within which it reaches the limit of the whole response, and so
		// hands out aborted records. The limit of a partition is harmless.
		r.(*kmsg.FetchRequest).MaxBytes = math.MaxInt32
		return nil, nil, false
	})
	print := func(r *kmsg.OffsetCommitRequest) { printCommits(args[0], args[2], r) }
	if len(args) == 4 {
		held := newHeldPrinter(args[0], args[3])
		defer held.close()
		print = held.print
	}
	c.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		print(r.(*kmsg.OffsetCommitRequest))
		return nil, nil, false
	})
	fmt.Println(c.ListenAddrs()[0])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

func printCommits(topic, dir string, r *kmsg.OffsetCommitRequest) {
	files := 0
	if visible := visibleFiles(dir); len(visible) > 0 {
		files = fileNumber(visible[len(visible)-1]) + 1
	}
	for _, t := range r.Topics {
		if t.Topic != topic && t.Topic != "" {
			continue
		}
		for _, p := range t.Partitions {
			fmt.Printf("commit %d %d %d\n", p.Partition, p.Offset, files)
		}
	}
}
