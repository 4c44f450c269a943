package devkafka

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func start(t *testing.T, o Options) *Broker {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// consume reads n records of a topic from its start.
func consume(t *testing.T, addr, topic string, n int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var got []*kgo.Record
	for len(got) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

func write(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad(t *testing.T) {
	file := write(t,
		`{"id":"a","p":{"time":1500000000000}}`,
		``,
		`{"id":12345678901234567890,"p":{"time":"2020-01-02T03:04:05.678Z"}}`+"\r",
		`{"id":null,"p":{"time":-1000}}`,
	)
	b := start(t, Options{Topics: []Topic{{"events", 1}}, Load: []Load{{Topic: "events", File: file, Key: "id", Timestamp: "/p/time"}}})
	if got := b.Loaded[0]; got.Records != 3 || got.Skipped {
		t.Errorf("loaded %+v, want 3 records", got)
	}
	got := consume(t, b.Addr, "events", 3)
	for i, want := range []struct {
		key string
		ms  int64
	}{{"a", 1500000000000}, {"12345678901234567890", 1577934245678}, {"", -1000}} {
		if string(got[i].Key) != want.key || got[i].Timestamp.UnixMilli() != want.ms {
			t.Errorf("record %d has key %q and time %d, want %q and %d", i, got[i].Key, got[i].Timestamp.UnixMilli(), want.key, want.ms)
		}
	}
	if got[2].Key != nil {
		t.Errorf("a null key became %q", got[2].Key)
	}
	if want := `{"id":"a","p":{"time":1500000000000}}`; string(got[0].Value) != want {
		t.Errorf("value %q, want the line as it is, %q", got[0].Value, want)
	}
}

func TestLoadTwiceIntoADirectory(t *testing.T) {
	file := write(t, `{"n":1}`, `{"n":2}`, `{"n":3}`)
	o := Options{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Load: []Load{{Topic: "numbers", File: file}}}
	for round, want := range []string{"loaded 3 records", "holds 3 records already"} {
		b := start(t, o)
		if got := b.Loaded[0].String(); !strings.Contains(got, want) {
			t.Errorf("round %d: %q does not say %q", round, got, want)
		}
		if n := b.Records("numbers"); n != 3 {
			t.Errorf("round %d: the topic holds %d records, want 3", round, n)
		}
		b.Close()
	}
}

func TestPartialLoadIsSaid(t *testing.T) {
	l := Loaded{Load: Load{Topic: "t", File: "f"}, Records: 5, Skipped: true, Held: 2}
	if got := l.String(); !strings.Contains(got, "fewer than the 5") {
		t.Errorf("%q does not say that records are missing", got)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct {
		name, line string
		load       Load
		want       string
	}{
		{"no JSON", `{"id":`, Load{Key: "id"}, "line 2 of"},
		{"no time", `{"id":1}`, Load{Timestamp: "at"}, "neither a number of milliseconds nor an RFC 3339 time"},
		{"object as key", `{"id":{}}`, Load{Key: "id"}, "cannot be a key"},
		{"into a text", `{"t":"x"}`, Load{Key: "/t/more"}, "has no fields"},
		{"into a list", `{"l":[1]}`, Load{Key: "/l/x"}, "is no index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.load.Topic, c.load.File = "t", write(t, `{"id":"fine","at":1}`, c.line)
			_, err := Start(t.Context(), Options{Listen: "127.0.0.1:0", Load: []Load{c.load}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

func TestLargeLine(t *testing.T) {
	line := `{"v":"` + strings.Repeat("x", 5<<20) + `"}`
	b := start(t, Options{Load: []Load{{Topic: "large", File: write(t, line, `{"v":"small"}`)}}})
	total := 0
	for _, r := range consume(t, b.Addr, "large", 2) {
		total += len(r.Value)
	}
	if want := len(line) + len(`{"v":"small"}`); total != want {
		t.Errorf("%d bytes came back, want %d", total, want)
	}
}

func TestCreateAgain(t *testing.T) {
	b := start(t, Options{Topics: []Topic{{"a", 3}}})
	if err := b.Create(Topic{"a", 3}); err != nil {
		t.Error(err)
	}
	if err := b.Create(Topic{"a", 4}); err == nil {
		t.Error("a topic of 3 partitions was taken for one of 4")
	}
}

func TestFill(t *testing.T) {
	for _, codec := range []string{"none", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			b := start(t, Options{Topics: []Topic{{"made", 4}}})
			n, err := Fill{Topic: "made", Partitions: 4, Records: 2000, Codec: codec, Seed: 1}.Produce(t.Context(), b.Addr)
			if err != nil {
				t.Fatal(err)
			}
			if n < 2000*500 || n > 2000*530 {
				t.Errorf("%d bytes in 2000 values, want about 512 each", n)
			}
			perPartition := make(map[int32]int)
			for _, r := range consume(t, b.Addr, "made", 2000) {
				perPartition[r.Partition]++
			}
			if want := map[int32]int{0: 500, 1: 500, 2: 500, 3: 500}; fmt.Sprint(perPartition) != fmt.Sprint(want) {
				t.Errorf("records a partition: %v, want %v", perPartition, want)
			}
		})
	}
	if _, err := (Fill{Topic: "t", Codec: "rar"}).Produce(t.Context(), "127.0.0.1:1"); err == nil {
		t.Error("an unknown compression was taken")
	}
}

func TestFillIsTheSameAgain(t *testing.T) {
	a, b := newValues(7, 0), newValues(7, 0)
	for i := range 100 {
		if x, y := a.record(i), b.record(i); !bytes.Equal(x.Value, y.Value) {
			t.Fatalf("record %d differs: %s and %s", i, x.Value, y.Value)
		}
	}
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Listen: "127.0.0.1:0", Load: []Load{{Topic: "t", File: write(t, `1`, `2`)}}}, w)
	}()
	buf := make([]byte, 1024)
	text := ""
	for !strings.Contains(text, "kafka broker at 127.0.0.1:") {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		text += string(buf[:n])
	}
	if !strings.Contains(text, "topic t: loaded 2 records") {
		t.Errorf("%q does not tell what was loaded", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"orders": "{orders 4}", "orders:7": "{orders 7}",
		":3": "missing", "orders:0": "not a number of partitions", "orders:x": "not a number of partitions",
	} {
		got, err := ParseTopic(in)
		if text := fmt.Sprint(got, err); !strings.Contains(text, want) {
			t.Errorf("ParseTopic(%q) = %s, want %s", in, text, want)
		}
	}
	for in, want := range map[string]string{"a=b.ndjson": "{a b.ndjson  }", "a": "topic=file", "=b": "topic=file"} {
		got, err := ParseLoad(in)
		if text := fmt.Sprint(got, err); !strings.Contains(text, want) {
			t.Errorf("ParseLoad(%q) = %s, want %s", in, text, want)
		}
	}
	for _, in := range []string{"nonsense", ":9092", "0.0.0.0:9092", "127.0.0.1:x", "127.0.0.1:70000"} {
		if _, _, err := (&Options{Listen: in}).address(); err == nil {
			t.Errorf("address %q was taken", in)
		}
	}
}
