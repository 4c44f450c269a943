package cases

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/readback"
)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func numbered(n int) []*kgo.Record {
	out := make([]*kgo.Record, n)
	for i := range out {
		out[i] = &kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i)}
	}
	return out
}

// Case 5: one record of 5 MB, and 1,000 records of 5 KB in one producer batch,
// with room for all of it and with less room than either. No process is
// restarted over it.
func TestLargeRecordAndLargeBatch(t *testing.T) {
	for _, budget := range []string{"128MiB", "64KiB"} {
		t.Run(budget, func(t *testing.T) {
			w := newWorld(t, nil)
			w.produce(&kgo.Record{Value: randomBytes(5 << 20)})
			batch := make([]*kgo.Record, 1000)
			for i := range batch {
				batch[i] = &kgo.Record{Value: randomBytes(5 << 10)}
			}
			w.produce(batch...)
			said := mustCatchUp(t, w.file(fmt.Sprintf("memory_budget = %q", budget)))
			if strings.Contains(said, "process has ended") || strings.Contains(said, "failed") {
				t.Errorf("something failed on the way:\n%s", said)
			}
			w.check(1001)
		})
	}
}

// Case 2: a log with holes of every kind, which ends in one.
func TestCommitsGoOnPastHoles(t *testing.T) {
	w := newWorld(t, map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "min.cleanable.dirty.ratio": kadm.StringPtr("0")})
	for i := range 30 {
		w.produce(&kgo.Record{Key: fmt.Appendf(nil, "k%d", i%4), Value: fmt.Appendf(nil, "v%d", i)})
	}
	w.broker.Compact()
	w.transaction(3, true)
	w.transaction(5, false)
	mustCatchUp(t, w.file(""))
	w.check(30 + 4 + 6)
}

// transaction writes n records; it ends with a marker, which takes a position.
func (w *world) transaction(n int, commit bool) {
	w.t.Helper()
	p, err := kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.TransactionalID(fmt.Sprint("tx", commit)), kgo.DefaultProduceTopic(topic))
	if err != nil {
		w.t.Fatal(err)
	}
	defer p.Close()
	if err := p.BeginTransaction(); err != nil {
		w.t.Fatal(err)
	}
	rs := numbered(n)
	for _, r := range rs {
		r.Key = append([]byte("tx-"), r.Key...)
	}
	if err := p.ProduceSync(w.t.Context(), rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	if err := p.EndTransaction(w.t.Context(), kgo.TransactionEndTry(commit)); err != nil {
		w.t.Fatal(err)
	}
}

// Cases 9 and 10: headers in order, twice, null, empty and binary; null and
// empty keys and values. The comparison tells them apart, and is shown to.
func TestRecordsAreLossless(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(
		&kgo.Record{Key: nil, Value: nil},
		&kgo.Record{Key: []byte{}, Value: []byte{}},
		&kgo.Record{Key: nil, Value: []byte{}},
		&kgo.Record{Key: []byte{}, Value: nil},
		&kgo.Record{Key: []byte{0, 0xff}, Value: []byte("\x00\xfe\n"), Headers: []kgo.RecordHeader{
			{Key: "twice", Value: []byte("b")}, {Key: "null", Value: nil}, {Key: "twice", Value: []byte("a")},
			{Key: "empty", Value: []byte{}}, {Key: "", Value: []byte{0, 0xff, 0x80}}, {Key: "ünï", Value: []byte("é")},
		}},
	)
	mustCatchUp(t, w.file(""))
	w.check(5)
	var nulls, empties int
	w.eachFile(func(f readback.File) {
		for _, r := range f.Rows {
			for _, b := range [][]byte{r.Key, r.Value} {
				switch {
				case b == nil:
					nulls++
				case len(b) == 0:
					empties++
				}
			}
		}
	})
	if nulls != 4 || empties != 4 {
		t.Errorf("%d null and %d empty keys and values, want 4 of each", nulls, empties)
	}
}

// Case 17: fewer records than a batch, then silence.
func TestAFewRecordsAndSilence(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(3)...)
	p := start(t, w.file(`max_ack_delay = "300ms"`))
	p.Eventually("a commit without more records", func() bool { return w.committed() == 3 })
	p.Stop()
	w.check(3)
}

// Case 12: records were removed before they were read.
func TestRetentionPastTheCommittedPosition(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(10)...)
	mustCatchUp(t, w.file(""))
	w.produce(numbered(10)...)
	if err := w.broker.DeleteRecords(topic, 0, 15); err != nil {
		t.Fatal(err)
	}
	code, said := catchUp(t, w.file(""))
	if code != 1 || !strings.Contains(said, "cannot be read at position 10") || !strings.Contains(said, "on_gap") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if at := w.committed(); at != 10 {
		t.Errorf("committed %d after a halt at 10", at)
	}
	said = mustCatchUp(t, w.file(`on_gap = "continue"`))
	if !strings.Contains(said, "ALARM: positions [10,15)") {
		t.Errorf("no alarm:\n%s", said)
	}
	if at := w.committed(); at != 20 {
		t.Errorf("committed %d, want 20", at)
	}
}

// Case 11: what a crash leaves behind is no file of the log, and the next start
// does not mind it.
func TestUnsealedFileIsIgnored(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(5)...)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	stump := filepath.Join(w.dir, ".twg-0123456789abcdef-1.tmp")
	if err := os.WriteFile(stump, []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustCatchUp(t, w.file(""))
	w.check(5)
	if _, err := os.Stat(stump); err == nil {
		t.Error("nobody cleaned up what a dead process left")
	}
}

// The directory is removed while the group stands at its end: what the sink
// holds decides, loudly.
func TestDirectoryIsRemoved(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(50)...)
	mustCatchUp(t, w.file(""))
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	said := mustCatchUp(t, w.file(""))
	if !strings.Contains(said, "ALARM: the committed position 50") {
		t.Errorf("no alarm:\n%s", said)
	}
	w.check(50)
}
