//go:build services

package rawfirst

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// status is the part of "twg status --json" that says whether all is there.
type status struct {
	Streams []struct {
		Partition int32
		Raw       struct {
			FirstHole int64 `json:"first_hole"`
			Missing   int64
		}
		Lanes []struct {
			Sink      string
			FirstHole int64 `json:"first_hole"`
			Missing   int64
			SetAside  int64 `json:"set_aside"`
			Lost      int64
		}
	}
	Windows []window
	Backlog struct{ Windows, Positions, Lag, Live, Lost int64 }
}

type window struct {
	ID    uint64
	Sink  string
	State string
	Fence uint64
}

// status asks twg, and fails the test if it does not know.
func (w *world) status() status {
	w.t.Helper()
	c := w.twg("both", "status", "-json", w.example)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		w.t.Fatalf("twg status: %v\n%s", err, stderr.String())
	}
	var file struct{ Pipelines []status }
	must(w.t, json.Unmarshal(out, &file))
	if len(file.Pipelines) != 1 {
		w.t.Fatalf("status of %d pipelines:\n%s", len(file.Pipelines), out)
	}
	return file.Pipelines[0]
}

// claimed is a window of a lane that somebody works on.
func (w *world) claimed(lane string) (window, bool) {
	for _, x := range w.status().Windows {
		if x.Sink == lane && x.State == "claimed" {
			return x, true
		}
	}
	return window{}, false
}

// fence is that of a window, 0 if it is complete.
func (w *world) fence(id uint64) uint64 {
	for _, x := range w.status().Windows {
		if x.ID == id {
			return x.Fence
		}
	}
	return 0
}

// complete says whether nothing is missing up to the topic's end.
func (s status) complete(ends map[int32]int64) bool {
	if len(s.Streams) != len(ends) || len(s.Windows) != 0 || s.Backlog.Positions+s.Backlog.Lag+s.Backlog.Live+s.Backlog.Lost != 0 {
		return false
	}
	for _, x := range s.Streams {
		if x.Raw.FirstHole != ends[x.Partition] || x.Raw.Missing != 0 || len(x.Lanes) != 2 {
			return false
		}
		for _, l := range x.Lanes {
			if l.FirstHole != x.Raw.FirstHole || l.Missing+l.SetAside+l.Lost != 0 {
				return false
			}
		}
	}
	return true
}

// isRebuilt waits until the hosts, by themselves, have nothing left to do, and
// stops them. A last one must find nothing.
func (w *world) isRebuilt(ingest, recovery *host) {
	w.t.Helper()
	ends, err := readback.Ends(w.t.Context(), w.broker.Addrs()[0], topic)
	must(w.t, err)
	var s status
	defer func() {
		if w.t.Failed() {
			w.t.Logf("status %+v, ends %v\nthe host that recovers:\n%s", s, ends, recovery.Said())
		}
	}()
	ingest.Eventually("a complete status", func() bool { s = w.status(); return s.complete(ends) })
	ingest.Stop()
	recovery.Stop()
	w.start("both", "--until-caught-up").Wait()
	if s = w.status(); !s.complete(ends) {
		w.t.Error("the status is no longer complete")
	}
	var sum int64
	for _, end := range ends {
		sum += end
	}
	if at := w.committed(); at != sum {
		w.t.Errorf("committed up to %d of %d positions", at, sum)
	}
}

// compare holds raw against the topic, and each secondary against raw, with
// readers that share no code with the product.
func (w *world) compare() {
	w.t.Helper()
	id, records, err := readback.Topic(w.t.Context(), w.broker.Addrs(), topic)
	must(w.t, err)
	raw := w.rows(w.raw.DSN(""), rawTable)
	w.same("raw", id, records, raw)
	records = nil
	for _, row := range raw {
		records = append(records, row.Record)
	}
	w.same("copy", id, records, w.rows(w.copy.DSN(""), copyTable))
	w.same("lake", id, records, w.files())
}

// same wants each record once, and nothing else.
func (w *world) same(what string, id verify.Topic, records []verify.Record, rows []verify.Row) {
	w.t.Helper()
	c := verify.NewRows(id, records)
	c.Add(what, rows)
	c.Finish(nil)
	for _, f := range []verify.Findings{c.Lost, c.Duplicated, c.Extra, c.Wrong} {
		for _, line := range f.Lines() {
			w.t.Errorf("%s: %s", what, line)
		}
	}
	if len(records) == 0 || c.Count != len(records) {
		w.t.Errorf("%s: %d rows of %d records", what, c.Count, len(records))
	}
	w.t.Logf("%s: %d rows, each once", what, c.Count)
}

func (w *world) rows(dsn, from string) (out []verify.Row) {
	w.t.Helper()
	r := table.NewReader(dsn)
	defer r.Close()
	must(w.t, r.Rows(w.t.Context(), from, func(rows []verify.Row) { out = append(out, rows...) }))
	return out
}

func (w *world) files() (out []verify.Row) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.lake, "*.parquet"))
	must(w.t, err)
	for _, path := range paths {
		f, err := readback.Parquet(path)
		must(w.t, err)
		out = append(out, f.Rows...)
	}
	return out
}
