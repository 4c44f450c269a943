package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/internal/devkafka"
)

const total = 3000

// TestKilledBeforeAFlush: what the secondary has confirmed and not flushed dies
// with its process. It is no coverage: it is rebuilt from raw, and in the end
// every record is in the file.
func TestKilledBeforeAFlush(t *testing.T) {
	p := newPipeline(t)
	p.produce(t, 0, total/2)
	host := p.start(t)
	p.await(t, "all to be written and not flushed", func() bool {
		log, err := os.ReadFile(p.file + ".log") // a line of progress comes now and then
		return err == nil && bytes.Contains(log, []byte("1,500 not flushed"))
	})
	if s := p.status(t); s.held != total/2 || s.missing != total/2 {
		t.Errorf("raw holds %d, the secondary lacks %d; want %d of both: it has flushed nothing", s.held, s.missing, total/2)
	}
	if got, _ := readBack(p.out); len(got) > 0 {
		t.Fatalf("%d lines are in the file, and nothing was flushed", len(got))
	}
	p.killSecondary(t)
	p.produce(t, total/2, total)
	p.await(t, "what was lost to be rebuilt", func() bool { s := p.status(t); return s.held == total && s.missing == total/2 })
	p.interrupt(t, host) // flushes what is written
	if s := p.status(t); s.held != total || s.missing != 0 {
		t.Errorf("raw holds %d, the secondary lacks %d; want %d and 0", s.held, s.missing, total)
	}
	p.complete(t)
}

type pipeline struct {
	bin, file, out string
	client         *kgo.Client
}

func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	p := &pipeline{bin: t.TempDir(), out: filepath.Join(t.TempDir(), "out.jsonl")}
	for name, pkg := range map[string]string{"twg": "cmd/twg", "twg-plugin-kafka-source": "plugins/kafka-source", "twg-plugin-parquet": "plugins/parquet", "twg-plugin-jsonl-later": "examples/plugins/jsonl-later"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(p.bin, name), "github.com/twg-io/twg/"+pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	b, err := devkafka.Start(t.Context(), devkafka.Options{Listen: "127.0.0.1:0", Topics: []devkafka.Topic{{Name: "t", Partitions: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if p.client, err = kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic("t")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	p.file = filepath.Join(t.TempDir(), "p.hcl")
	text := fmt.Sprintf(hcl, b.Addr, t.TempDir(), p.out)
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// Nothing asks for a flush but the end, and recovery, which has its own.
const hcl = `pipeline "p" {
  max_ack_delay = "10m"
  recovery { interval = "200ms" }
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = ["t"]
      group   = "g"
      start   = "earliest"
    }
  }
  sink "parquet" "raw" {
    role    = "primary-raw"
    durable = true
    config {
      dir           = %q
      max_file_age = "500ms"
    }
  }
  sink "jsonl-later" "copy" {
    role    = "secondary"
    durable = false
    config { path = %q }
  }
}
`

func (p *pipeline) produce(t *testing.T, from, to int) {
	t.Helper()
	var rs []*kgo.Record
	for i := from; i < to; i++ {
		rs = append(rs, &kgo.Record{Value: fmt.Appendf(nil, "%d", i)})
	}
	if err := p.client.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (p *pipeline) start(t *testing.T) *exec.Cmd {
	t.Helper()
	log, err := os.Create(p.file + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(filepath.Join(p.bin, "twg"), "--plugin-dir", p.bin, "run", p.file)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s", text)
		}
	})
	return cmd
}

func (p *pipeline) interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("twg run: %v", err)
	}
}

type standing struct{ held, missing int }

func (p *pipeline) status(t *testing.T) (s standing) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(p.bin, "twg"), "--plugin-dir", p.bin, "status", "--json", p.file).Output()
	if err != nil {
		return standing{-1, -1} // raw's directory is not there yet
	}
	var got struct {
		Pipelines []struct {
			Streams []struct {
				Raw   struct{ Held int }
				Lanes []struct{ Missing int }
			}
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, x := range got.Pipelines[0].Streams {
		s.held += x.Raw.Held
		s.missing += x.Lanes[0].Missing
	}
	return s
}

func (p *pipeline) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(200 * time.Millisecond); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s: %+v", what, p.status(t))
		}
	}
}

// killSecondary kills the processes that run this test's copy of the plugin.
func (p *pipeline) killSecondary(t *testing.T) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, l := range links {
		if to, err := os.Readlink(l); err != nil || to != filepath.Join(p.bin, "twg-plugin-jsonl-later") {
			continue
		}
		var pid int
		fmt.Sscanf(strings.TrimPrefix(l, "/proc/"), "%d", &pid)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no process of the secondary was found")
	}
}

// complete: every record is there. An append-only file may have some twice.
func (p *pipeline) complete(t *testing.T) {
	t.Helper()
	lines, err := readBack(p.out)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for _, l := range lines {
		seen[l.Position] = true
	}
	if len(seen) != total {
		t.Errorf("%d records are in the file, want %d", len(seen), total)
	}
}
