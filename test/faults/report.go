package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twg-io/twg/test/faults/verify"
)

// report prints everything but the last line.
func (r *run) report(w io.Writer, v *verdict) {
	r.tally.print(w)
	_, aborted, large := r.prod.Counts()
	took := time.Since(r.begun)
	fmt.Fprintf(w, "%d records (%d of 5 MB) and %d aborted ones produced, %d rows in %s, %.0f s, %.0f rows/s; host started %d times\n",
		v.records, large, aborted, v.rows.Count, v.where(), took.Seconds(), float64(v.rows.Count)/took.Seconds(), r.hosts.starts)
	fmt.Fprintf(w, "%d moments at which positions that were relied on were compared with what was there; %d starts among them\n", r.watch.moments(), r.starts.seen())
	v.lanes.print(w)
	var all strings.Builder
	for _, f := range append(append([]verify.Findings{v.rows.Lost, v.rows.Duplicated, v.led, v.stale, v.rows.Extra, v.rows.Wrong}, v.others...), v.lanes.findings()...) {
		for _, line := range f.Lines() {
			fmt.Fprintln(w, line)
		}
		for _, line := range f.All() {
			fmt.Fprintln(&all, line)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "findings.txt"), []byte(all.String()), 0o644); err != nil {
		fmt.Fprintln(w, err)
	}
	for _, p := range v.problems {
		fmt.Fprintln(w, p)
	}
	if !v.ok() {
		fmt.Fprintf(w, "logs and files are in %s; the same seed gives the same schedule\n", r.dir)
	}
}

// where says where the rows were.
func (v *verdict) where() string {
	if v.files == 0 {
		return "a table"
	}
	return fmt.Sprintf("%d files", v.files)
}
