package kafka

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/services/daemon"
)

// clusterID is any 16 bytes, as Kafka spells them.
const clusterID = "dHdnLXRlc3QtY2x1c3Rlcg"

// Node is one broker. The methods are for one goroutine at a time.
type Node struct {
	id   int
	dir  string
	lib  string
	port int
	jvm  []string
	proc *daemon.Process
}

// Addr is host and port; they stay over restarts.
func (n *Node) Addr() string { return "127.0.0.1:" + strconv.Itoa(n.port) }

// PID is the broker process's number.
func (n *Node) PID() int { return n.proc.PID() }

// Log is the file with the broker's messages, from WARN.
func (n *Node) Log() string { return filepath.Join(n.dir, "broker.log") }

// Start starts the broker, the first time or again after Stop or Kill, on the
// same port and data, and waits until it answers as a member of its cluster.
func (n *Node) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	// An orphan is to end at once.
	p, err := daemon.Start(n.java("kafka.Kafka", n.config()), "kafka broker "+strconv.Itoa(n.id), n.Log(), syscall.SIGKILL)
	if err != nil {
		return err
	}
	n.proc = p
	if err := p.Ready(ctx, n.answers); err != nil {
		n.Kill()
		return err
	}
	return nil
}

// Stop ends the broker in good order.
func (n *Node) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return n.proc.Stop(ctx, syscall.SIGTERM)
}

// Kill ends the broker with SIGKILL.
func (n *Node) Kill() {
	if n.proc != nil {
		n.proc.Kill()
	}
}

// Signal sends sig to the broker, such as SIGSTOP.
func (n *Node) Signal(sig syscall.Signal) { n.proc.Signal(sig) }

// answers asks the broker itself whether it is one of those that serve.
func (n *Node) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(n.Addr()), kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer client.Close()
	m, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	for _, b := range m.Brokers {
		if b.NodeID == int32(n.id) {
			return nil
		}
	}
	return fmt.Errorf("broker %d is not registered yet", n.id)
}

func (n *Node) format(ctx context.Context) error {
	cmd := n.java("kafka.tools.StorageTool", "format", "-t", clusterID, "-c", n.config())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format storage of kafka broker %d: %w\n%s", n.id, err, out)
	}
	return ctx.Err()
}

func (n *Node) config() string { return filepath.Join(n.dir, "server.properties") }

func (n *Node) java(args ...string) *exec.Cmd {
	all := append([]string{}, n.jvm...)
	all = append(all,
		"-Dlog4j2.configurationFile="+filepath.Join(filepath.Dir(n.dir), "log4j2.properties"),
		"-cp", filepath.Join(n.lib, "*"))
	cmd := exec.Command("java", append(all, args...)...)
	cmd.Dir = n.dir
	return cmd
}
