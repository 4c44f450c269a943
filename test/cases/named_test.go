package cases

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/hostproc"
)

// named is the pipeline file with the one partition named: no group, the
// directory keeps the position.
func (w *world) named(more, position string) string {
	w.t.Helper()
	return w.fileWith(more, position, fmt.Sprintf(`sink "parquet" "lake" {
    config { dir = %q }
  }`, w.dir))
}

const partitionZero = `partitions = ["0"]`

// The sink's coverage is the only position: after a graceful end and after
// kill -9 reading goes on exactly behind what is durable, and the brokers have
// heard of no position.
func TestNamedPartitionsResumeFromTheSink(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(20)...)
	mustCatchUp(t, w.named("", partitionZero))
	w.check(-1)

	p := start(t, w.named(`max_ack_delay = "200ms"`, partitionZero))
	w.produce(numbered(30)...)
	p.Eventually("50 rows", func() bool { return w.rows() == 50 })
	w.produce(numbered(30)...)
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.End()
	w.produce(numbered(30)...)
	mustCatchUp(t, w.named("", partitionZero))
	w.check(-1)
}

// rows is how many the directory's readers see.
func (w *world) rows() (n int) {
	w.eachFile(func(f readback.File) { n += len(f.Rows) })
	return n
}

// Where "latest" begins is decided once, also of an empty topic: what is
// written while twg is stopped is read.
func TestNamedPartitionsLatestIsDecidedOnce(t *testing.T) {
	for _, before := range []int{0, 10} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			w := newWorld(t, nil)
			if before > 0 {
				w.produce(numbered(before)...)
			}
			latest := partitionZero + "\n      start = \"latest\""
			mustCatchUp(t, w.named("", latest))
			w.produce(numbered(7)...)
			mustCatchUp(t, w.named("", latest))
			if n := w.rows(); n != 7 {
				t.Errorf("%d rows, want the 7 that came after the first start", n)
			}
		})
	}
}

// Two hosts name the same partition. The later one goes on; the first is
// refused, halts and names both.
func TestTwoHostsNameTheSamePartition(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(10)...)
	file := w.named(`max_ack_delay = "200ms"`, partitionZero)
	first := start(t, file)
	first.Eventually("10 rows", func() bool { return w.rows() == 10 })
	second := start(t, file)
	second.Eventually("the second host to begin", func() bool {
		w.produce(numbered(1)...)
		return strings.Contains(first.Said(), "taken over")
	})
	if code := first.End(); code != 1 {
		t.Errorf("the first host ended with %d", code)
	}
	for _, p := range []*hostproc.Host{first, second} {
		if who := fmt.Sprintf("process %d", p.Cmd.Process.Pid); !strings.Contains(first.Said(), who) {
			t.Errorf("the first host does not name %s:\n%s", who, first.Said())
		}
	}
	second.Stop()
	mustCatchUp(t, file)
	w.check(-1)
}

// A sink that keeps no position is refused before anything runs, with the
// reason.
func TestNamedPartitionsNeedAnOffsetStore(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "twg-plugin-jsonl"), "github.com/twg-io/twg/examples/plugins/jsonl").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	w := newWorld(t, nil)
	sink := fmt.Sprintf(`sink "jsonl" "file" {
    config { path = %q }
  }`, filepath.Join(w.dir, "out.jsonl"))
	validate := func(position string) (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "twg"), "--plugin-dir", bin, "validate", w.fileWith("", position, sink)).CombinedOutput()
		return string(out), err
	}
	if said, err := validate(partitionZero); err == nil || !strings.Contains(said, "lacks the capability offset_store") || !strings.Contains(said, "consumer group") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := validate(fmt.Sprintf("group = %q", group)); err != nil {
		t.Errorf("with a group: %v\n%s", err, said)
	}
}
