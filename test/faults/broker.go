package main

import (
	"context"
	"fmt"
	"math"
	"net"
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
//	faults broker <topic> <partitions> <address that clients are told>
//
// It prints the address that it listens at.
func brokerMain(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("broker: want topic, partitions and address, got %d arguments", len(args))
	}
	partitions, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("broker: partitions: %w", err)
	}
	told, err := net.ResolveTCPAddr("tcp", args[2])
	if err != nil {
		return fmt.Errorf("broker: address: %w", err)
	}
	var real net.Addr
	c, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID("faults"),
		kfake.SeedTopics(int32(partitions), args[0]),
		kfake.GroupMinSessionTimeout(500*time.Millisecond),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(32 << 20)}),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			ln, err := net.Listen(network, address)
			if err == nil {
				real = ln.Addr()
			}
			return elsewhere{ln, told}, err
		}),
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
	fmt.Println(real)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

// elsewhere is a listener that says it listens at another address.
type elsewhere struct {
	net.Listener
	addr net.Addr
}

func (e elsewhere) Addr() net.Addr { return e.addr }
