//go:build services

package sinkdown

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/twg-io/twg/test/hostproc"
	"github.com/twg-io/twg/test/services/kafka"
	"github.com/twg-io/twg/test/services/postgres"
)

const (
	topic      = "orders"
	group      = "twg-orders"
	partitions = 4
	table      = "orders_raw"
)

// bin holds the product's programs.
var bin string

func TestMain(m *testing.M) { os.Exit(hostproc.Main(m, &bin, "kafka-source", "postgres")) }

// world is a broker with one topic, a database, and a pipeline file.
type world struct {
	t      *testing.T
	broker *kafka.Cluster
	db     *postgres.Server
	admin  *kadm.Client
	file   string
	socket string
	http   *http.Client
}

func newWorld(t *testing.T, budget string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, file: filepath.Join(dir, "pipeline.hcl"), socket: filepath.Join(dir, "s")}
	t.Cleanup(w.stopServers)
	var g errgroup.Group
	g.Go(func() (err error) { w.broker, err = kafka.Start(t.Context(), kafka.Config{Fast: true}); return err })
	g.Go(func() (err error) { w.db, err = postgres.Start(t.Context(), postgres.Config{}); return err })
	must(t, g.Wait())
	w.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.socket)
	}}}
	w.admin = kadm.NewClient(w.client())
	_, err := w.admin.CreateTopic(t.Context(), partitions, 1, nil, topic)
	must(t, err)
	must(t, os.WriteFile(w.file, fmt.Appendf(nil, `admin { listen = "unix:%s" }

pipeline "orders" {
  memory_budget = %q
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%q]
      group   = %q
    }
  }
  sink "postgres" "raw" {
    durable = true
    config {
      dsn   = %q
      table = %q
    }
  }
}
`, w.socket, budget, w.broker.Addrs()[0], topic, group, w.db.DSN(""), table), 0o600))
	return w
}

func (w *world) stopServers() {
	if w.broker != nil {
		must(w.t, w.broker.Close())
	}
	if w.db != nil {
		must(w.t, w.db.Close())
	}
}

func (w *world) client(more ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.broker.Addrs()...)}, more...)...)
	must(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// produce writes so many records, with the values that value makes of their
// numbers.
func (w *world) produce(n int, value func(i int) []byte) {
	w.t.Helper()
	c := w.client(kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.MaxBufferedRecords(50_000))
	failed := make(chan error, 1)
	for i := range n {
		c.Produce(w.t.Context(), &kgo.Record{Value: value(i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	must(w.t, c.Flush(w.t.Context()))
	select {
	case err := <-failed:
		w.t.Fatal(err)
	default:
	}
}

// planned is what "twg plan" prints for the file, in bytes.
type planned struct {
	Memory struct {
		// Host is the host's ceiling, Together adds the plugins'.
		Host     int64 `json:"host_bytes"`
		Together int64 `json:"together_bytes"`
	} `json:"memory"`
}

func (w *world) plan() (p planned) {
	w.t.Helper()
	out, err := exec.Command(filepath.Join(bin, "twg"), "--plugin-dir", bin, "plan", "-json", w.file).Output()
	must(w.t, err)
	must(w.t, json.Unmarshal(out, &p))
	if p.Memory.Host == 0 || p.Memory.Together <= p.Memory.Host {
		w.t.Fatalf("%+v of the plan\n%s", p, out)
	}
	return p
}

// eachOnce wants all records of the topic in the table, each once.
func (w *world) eachOnce(want int) {
	w.t.Helper()
	c, err := pgx.Connect(w.t.Context(), w.db.DSN(""))
	must(w.t, err)
	defer c.Close(context.WithoutCancel(w.t.Context()))
	var rows, places, least, sum int64
	must(w.t, c.QueryRow(w.t.Context(), `select count(*), count(distinct (partition, position)), min(position), sum(position) from `+table).Scan(&rows, &places, &least, &sum))
	ends, err := w.admin.ListEndOffsets(w.t.Context(), topic)
	must(w.t, err)
	var total, positions int64
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset; positions += o.Offset * (o.Offset - 1) / 2 })
	if total != int64(want) || rows != total || places != total || least != 0 || sum != positions {
		w.t.Errorf("%d rows at %d places for %d records; the positions' sum is %d, want %d", rows, places, total, sum, positions)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
