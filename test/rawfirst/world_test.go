//go:build services

package rawfirst

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/twg-io/twg/test/faults/produce"
	"github.com/twg-io/twg/test/hostproc"
	"github.com/twg-io/twg/test/services/kafka"
	"github.com/twg-io/twg/test/services/postgres"
)

// What the example names.
const (
	topic      = "orders"
	group      = "twg-orders"
	partitions = 4
	rawTable   = "orders_raw"
	copyTable  = "orders"
)

// bin holds the product's programs.
var bin string

func TestMain(m *testing.M) { os.Exit(hostproc.Main(m, &bin, "kafka-source", "parquet", "postgres")) }

// world is what the example runs in.
type world struct {
	t         *testing.T
	begun     time.Time
	example   string
	broker    *kafka.Cluster
	admin     *kadm.Client
	raw, copy *postgres.Server
	lake      string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	example, err := filepath.Abs("../../examples/hcl/raw-first.hcl")
	must(t, err)
	w := &world{t: t, begun: time.Now(), example: example, lake: filepath.Join(t.TempDir(), "lake")}
	t.Cleanup(w.stopServers)
	must(t, w.startServers(t.Context()))
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addrs()...))
	must(t, err)
	t.Cleanup(client.Close)
	w.admin = kadm.NewClient(client)
	_, err = w.admin.CreateTopic(t.Context(), partitions, 1, nil, topic)
	must(t, err)
	return w
}

// startServers starts all of them at once: each takes seconds.
func (w *world) startServers(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() (err error) { w.broker, err = kafka.Start(ctx, kafka.Config{}); return err })
	g.Go(func() (err error) { w.raw, err = postgres.Start(ctx, postgres.Config{}); return err })
	g.Go(func() (err error) { w.copy, err = postgres.Start(ctx, postgres.Config{}); return err })
	return g.Wait()
}

func (w *world) stopServers() {
	if w.broker != nil {
		must(w.t, w.broker.Close())
	}
	for _, s := range []*postgres.Server{w.raw, w.copy} {
		if s != nil {
			must(w.t, s.Close())
		}
	}
}

// twg is a command line in the world that the example asks its environment for.
func (w *world) twg(role string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, "twg"), append([]string{"--plugin-dir", bin}, args...)...)
	c.Env = append(os.Environ(), "TWG_ROLE="+role, "TWG_BROKERS="+w.broker.Addrs()[0], "TWG_LAKE="+w.lake,
		"TWG_PG_DSN="+w.raw.DSN(""), "TWG_PG_COPY_DSN="+w.copy.DSN(""))
	return c
}

// produce writes to the topic until the function that it returns is called.
func (w *world) produce() (stop func()) {
	w.t.Helper()
	p, err := produce.New(produce.Config{Brokers: w.broker.Addrs(), Topic: topic, Partitions: partitions, Seed: 4, PerSecond: 500})
	must(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return func() {
		w.t.Helper()
		cancel()
		must(w.t, <-done)
	}
}

// committed is how far the group has come, all partitions together.
func (w *world) committed() (sum int64) {
	offsets, err := w.admin.FetchOffsets(w.t.Context(), group)
	if err != nil {
		return 0
	}
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	return sum
}

// goesOn waits until the host has committed a thousand positions more.
func (w *world) goesOn(h *host, after string) {
	w.t.Helper()
	from := w.committed()
	h.Eventually("commits after "+after, func() bool { return w.committed() > from+1000 })
	w.t.Logf("%.0f s: commits go on after %s", time.Since(w.begun).Seconds(), after)
}

// bury takes members out of the group, as an operator may who does not want to
// wait for session_timeout, which is 45 s in the example.
func (w *world) bury(dead []string) {
	w.t.Helper()
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group = group
	for _, id := range dead {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		r.Members = append(r.Members, m)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addrs()...))
	must(w.t, err)
	defer client.Close()
	_, err = r.RequestWith(w.t.Context(), client)
	must(w.t, err)
}

// members are those of the group.
func (w *world) members() (ids []string) {
	w.t.Helper()
	groups, err := w.admin.DescribeGroups(w.t.Context(), group)
	must(w.t, err)
	for _, m := range groups[group].Members {
		ids = append(ids, m.MemberID)
	}
	return ids
}

func connect(t *testing.T, s *postgres.Server) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.DSN(""))
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
