package source

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/internal/devkafka"
	"github.com/twg-io/twg/sdk"
)

// brokerEnv makes the test binary a broker with benchmark topics, so that the
// broker's CPU time is not the source's.
const brokerEnv = "TWG_TEST_BROKER_RECORDS"

func TestMain(m *testing.M) {
	if n := os.Getenv(brokerEnv); n != "" {
		serveBenchTopics(n)
		return
	}
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	os.Exit(code)
}

// atEnd ends what all tests share.
var atEnd []func()

func serveBenchTopics(records string) {
	var n int
	fmt.Sscan(records, &n)
	b, err := devkafka.Start(context.Background(), devkafka.Options{
		Listen: "127.0.0.1:0", Topics: []devkafka.Topic{{Name: "none", Partitions: 4}, {Name: "zstd", Partitions: 4}},
	})
	if err != nil {
		panic(err)
	}
	for _, codec := range []string{"none", "zstd"} {
		if _, err := (devkafka.Fill{Topic: codec, Partitions: 4, Records: n, Codec: codec}).Produce(context.Background(), b.Addr); err != nil {
			panic(err)
		}
	}
	fmt.Println(b.Addr)
	bufio.NewReader(os.Stdin).ReadString('\n') // until the parent ends
	b.Close()
}

// BenchmarkSource reports CPU-seconds a million records of about 512 bytes of
// this process: the source up to the batch, without a transport.
func BenchmarkSource(b *testing.B) {
	const records = 400_000
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", brokerEnv, records))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { in.Close(); cmd.Wait() }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	for _, topic := range []string{"none", "zstd"} {
		b.Run(topic, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				benchRun(b, strings.TrimSpace(addr), topic, fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), i), records)
			}
		})
	}
}

func benchRun(b *testing.B, addr, topic, group string, records int) {
	set := Settings{
		Brokers: []string{addr}, Topics: []string{topic}, Group: group, Start: "earliest", ClientID: "bench",
		SessionTimeout: 45 * time.Second, Heartbeat: 3 * time.Second, RebalanceTimeout: time.Minute, RevokeTimeout: 30 * time.Second,
		MetadataMaxAge: 30 * time.Second, StartupTimeout: 10 * time.Second,
		FetchMaxBytes: 4 << 20, PartitionMaxBytes: 1 << 20, FetchMaxWait: 500 * time.Millisecond, MaxBatchBytes: 256 << 20,
	}
	h := &benchHost{done: make(chan struct{}), want: records, started: make(chan sdk.Reader, 1)}
	r, err := open(&set, testLog(b, "bench"), h)
	if err != nil {
		b.Fatal(err)
	}
	h.started <- r
	<-h.done
	cpu, took := cpuTime()-h.cpu, time.Since(h.from)
	b.ReportMetric(cpu.Seconds()*1e6/float64(records), "cpu-s/M")
	b.ReportMetric(float64(records)/took.Seconds(), "rows/s")
	b.ReportMetric(float64(records)/float64(h.batches), "rows/batch")
	r.Close(context.Background())
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchHost starts everything and counts rows.
type benchHost struct {
	sdk.Events
	started    chan sdk.Reader
	want, rows int
	batches    int
	cpu        time.Duration
	from       time.Time
	done       chan struct{}
}

func (h *benchHost) Limits() sdk.Limits                            { return sdk.DefaultLimits }
func (h *benchHost) WaitCredit(ctx context.Context) (int64, error) { return 32 << 20, ctx.Err() }
func (h *benchHost) Lag([]sdk.Lag)                                 {}
func (h *benchHost) Fail(err error)                                { panic(err) }

func (h *benchHost) Assigned(_ context.Context, list []sdk.Assignment) error {
	h.cpu, h.from = cpuTime(), time.Now()
	r := <-h.started
	var starts []sdk.Start
	for _, a := range list {
		starts = append(starts, sdk.Start{Stream: a.Stream, Run: newRun()})
	}
	return r.Start(context.Background(), starts)
}

func (h *benchHost) Batch(_ context.Context, b *sdk.Batch) error {
	h.rows += b.NumRows()
	h.batches++
	b.Release()
	if h.rows == h.want {
		close(h.done)
	}
	return nil
}
