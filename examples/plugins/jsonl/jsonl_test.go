package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/internal/devkafka"
)

// build puts twg, the source and this sink where twg finds them.
func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	for name, pkg := range map[string]string{"twg": "cmd/twg", "twg-plugin-kafka-source": "plugins/kafka-source", "twg-plugin-jsonl": "examples/plugins/jsonl"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), "github.com/twg-io/twg/"+pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	return bin
}

// broker serves topic t, three partitions.
func broker(t *testing.T) (string, *kgo.Client) {
	t.Helper()
	b, err := devkafka.Start(t.Context(), devkafka.Options{Listen: "127.0.0.1:0", Topics: []devkafka.Topic{{Name: "t", Partitions: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return b.Addr, c
}

// records lie in partitions 0 and 1; 2 stays empty.
func records() []*kgo.Record {
	out := []*kgo.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k"), Value: []byte("not \xff text\n"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{0}}, {Key: "h", Value: nil}, {Key: "", Value: []byte{}}}},
	}
	for i := range 997 {
		out = append(out, &kgo.Record{Partition: int32(i % 2), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	for i, r := range out {
		r.Topic, r.Timestamp = "t", time.UnixMilli(int64(1_700_000_000_000+i))
	}
	return out
}

func produce(t *testing.T, c *kgo.Client, rs []*kgo.Record) {
	t.Helper()
	if err := c.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// twg runs the pipeline of group until it has caught up.
func twg(t *testing.T, bin, addr, group, start, path string) {
	t.Helper()
	hcl := fmt.Sprintf(`pipeline "p" {
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = ["t"]
      group   = %q
      start   = %q
    }
  }
  sink "jsonl" "out" {
    config { path = %q }
  }
}
`, addr, group, start, path)
	file := filepath.Join(t.TempDir(), "p.hcl")
	if err := os.WriteFile(file, []byte(hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "twg"), "--plugin-dir", bin, "run", "--until-caught-up", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("twg run: %v\n%s", err, out)
	}
}

// lines reads the file back, by partition.
func lines(t *testing.T, path string) map[int32][]line {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int32][]line{}
	in := bufio.NewScanner(bytes.NewReader(b))
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		out[l.Partition] = append(out[l.Partition], l)
	}
	return out
}

// compare holds the lines against what was produced.
func compare(t *testing.T, got map[int32][]line, rs []*kgo.Record) {
	t.Helper()
	next := map[int32]int{}
	ids := map[string]bool{}
	for _, r := range rs {
		i := next[r.Partition]
		next[r.Partition]++
		if i >= len(got[r.Partition]) {
			t.Fatalf("partition %d has %d lines", r.Partition, i)
		}
		l := got[r.Partition][i]
		same := l.Topic == "t" && l.Position == int64(i) && l.TimestampMS == r.Timestamp.UnixMilli() && len(l.ID) == 32 && !ids[l.ID] &&
			reflect.DeepEqual(l.Key, r.Key) && reflect.DeepEqual(l.Value, r.Value) && len(l.Headers) == len(r.Headers)
		for h := range r.Headers {
			same = same && l.Headers[h].Name == r.Headers[h].Key && reflect.DeepEqual(l.Headers[h].Value, r.Headers[h].Value)
		}
		if ids[l.ID] = true; !same {
			t.Fatalf("line %+v of record %+v", l, r)
		}
	}
	for p, n := range next {
		if len(got[p]) != n {
			t.Errorf("partition %d has %d lines, want %d", p, len(got[p]), n)
		}
	}
}

// committed is what the group holds, by partition; -1: nothing.
func committed(t *testing.T, c *kgo.Client, group string) (out []int64) {
	t.Helper()
	held, err := kadm.NewClient(c).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		at := int64(-1)
		if o, ok := held.Lookup("t", p); ok {
			at = o.At
		}
		out = append(out, at)
	}
	return out
}

// TestPipeline runs twg, source and sink as processes. The sink has no offset
// store: the group's offsets alone hold the position, and a start is committed
// there before anything is read.
func TestPipeline(t *testing.T) {
	bin := build(t)
	addr, client := broker(t)
	path := filepath.Join(t.TempDir(), "out.jsonl")
	rs := records()
	produce(t, client, rs[:500])
	twg(t, bin, addr, "g", "earliest", path)
	compare(t, lines(t, path), rs[:500])

	produce(t, client, rs[500:])
	twg(t, bin, addr, "g", "earliest", path) // goes on where the group is
	got := lines(t, path)
	compare(t, got, rs)
	want := []int64{int64(len(got[0])), int64(len(got[1])), 0}
	if at := committed(t, client, "g"); !slices.Equal(at, want) {
		t.Errorf("committed %v, want %v", at, want)
	}

	late := filepath.Join(t.TempDir(), "late.jsonl")
	twg(t, bin, addr, "late", "latest", late)
	if at := committed(t, client, "late"); !slices.Equal(at, want) {
		t.Errorf("latest committed %v, want %v before anything is read", at, want)
	}
	if _, err := os.Stat(late); err == nil {
		t.Error("latest delivered records")
	}
}

func TestHalfALineIsCutOff(t *testing.T) {
	for text, want := range map[string]string{"": "b\n", "a\n": "a\nb\n", "a\nhal": "a\nb\n", "half": "b\n"} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var a appendFile
		if err := a.append(path, []byte("b\n")); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%q became %q", text, got)
		}
		var b appendFile
		if err := b.append(path, []byte("c\n")); err == nil || !strings.Contains(err.Error(), "unavailable") {
			t.Errorf("a second writer: %v", err)
		}
		a.f.Close()
	}
}
