package kafka

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twg-io/twg/test/services/daemon"
)

// answerWithin bounds one question whether a broker is ready.
const answerWithin = 2 * time.Second

func (c *Cluster) addNodes(cfg Config, lib string) error {
	controller, err := daemon.FreePort()
	if err != nil {
		return err
	}
	count := max(cfg.Brokers, 1)
	for id := 1; id <= count; id++ {
		n := &Node{id: id, dir: filepath.Join(c.dir, "broker"+strconv.Itoa(id)), lib: lib, jvm: jvm(cfg)}
		if n.port, err = daemon.FreePort(); err != nil {
			return err
		}
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return fmt.Errorf("start kafka: %w", err)
		}
		if err := n.configure(cfg.Settings, controller, count); err != nil {
			return fmt.Errorf("configure kafka broker %d: %w", id, err)
		}
		c.nodes = append(c.nodes, n)
	}
	return nil
}

// jvm are the virtual machine's flags. A test's broker lives for seconds: what
// counts is how soon it is there.
func jvm(cfg Config) []string {
	flags := []string{"-Xmx" + cmp.Or(cfg.Heap, "384m"), "-Xms128m", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true"}
	if !cfg.Fast {
		flags = append(flags, "-XX:TieredStopAtLevel=1")
	}
	return flags
}

func (n *Node) configure(more map[string]string, controller, brokers int) error {
	all := n.settings(controller, brokers)
	maps.Copy(all, more)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s=%s\n", name, all[name])
	}
	return os.WriteFile(n.config(), []byte(text.String()), 0o644)
}

func (n *Node) settings(controller, brokers int) map[string]string {
	address := "127.0.0.1:" + strconv.Itoa(controller)
	replicas := strconv.Itoa(min(brokers, 3))
	set := map[string]string{
		"node.id":                        strconv.Itoa(n.id),
		"process.roles":                  "broker",
		"controller.quorum.voters":       "1@" + address,
		"controller.listener.names":      "CONTROLLER",
		"inter.broker.listener.name":     "PLAINTEXT",
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"listeners":                      "PLAINTEXT://" + n.Addr(),
		"log.dirs":                       filepath.Join(n.dir, "data"),

		"auto.create.topics.enable":                "false",
		"default.replication.factor":               replicas,
		"offsets.topic.replication.factor":         replicas,
		"offsets.topic.num.partitions":             "4",
		"transaction.state.log.replication.factor": replicas,
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "2",
		"message.max.bytes":                        strconv.Itoa(32 << 20),
		"replica.fetch.max.bytes":                  strconv.Itoa(32 << 20),
		"num.network.threads":                      "2",
		"num.io.threads":                           "4",
		"background.threads":                       "2",
	}
	maps.Copy(set, soon)
	if n.id == 1 {
		set["process.roles"] = "broker,controller"
		set["listeners"] += ",CONTROLLER://" + address
	}
	return set
}

// soon makes what takes minutes in production take seconds.
var soon = map[string]string{
	// Groups: the members' own limits decide, not the broker's.
	"group.min.session.timeout.ms":             "500",
	"group.initial.rebalance.delay.ms":         "0",
	"group.consumer.min.session.timeout.ms":    "500",
	"group.consumer.session.timeout.ms":        "3000",
	"group.consumer.min.heartbeat.interval.ms": "100",
	"group.consumer.heartbeat.interval.ms":     "300",
	// A broker that was killed is missed soon, and may come back soon.
	"broker.session.timeout.ms":    "3000",
	"broker.heartbeat.interval.ms": "500",
	// Retention, deletion and compaction.
	"log.initial.task.delay.ms":       "500",
	"log.retention.check.interval.ms": "500",
	"log.cleaner.backoff.ms":          "200",
	"log.segment.delete.delay.ms":     "500",
	"log.cleaner.dedupe.buffer.size":  "10485760",
}
