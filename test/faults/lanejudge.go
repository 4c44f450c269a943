package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// laneVerdict is what a run has shown of the secondaries.
type laneVerdict struct {
	copy, lake *verify.Rows
	others     []verify.Findings
	looks      int
	ended      int // completions of windows
}

// rebuiltWithin bounds the time until nothing is missing in a secondary and no
// window is open, once everything is committed and all hosts run.
const rebuiltWithin = 90 * time.Second

// awaitRebuilt waits until the hosts that recover have rebuilt everything, by
// themselves: nothing may be stranded.
func (r *run) awaitRebuilt(ctx context.Context) {
	t := table.NewReader(r.db.DSN(""))
	defer t.Close()
	begun := time.Now()
	missing, windows, err := 0, 0, error(nil)
	for time.Since(begun) < rebuiltWithin && ctx.Err() == nil {
		if missing, windows, err = t.Backlog(ctx, copyLane, lakeLane); err == nil && missing == 0 && windows == 0 {
			r.tally.rebuilt = time.Since(begun)
			return
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
		}
	}
	r.problem("stranded", "%s after everything was committed %d rows of raw are not covered by the secondaries and %d windows are open (%v)", rebuiltWithin, missing, windows, err)
}

// readLanes compares the secondaries with the topic. whole: they have had the
// time to be rebuilt.
func (r *run) readLanes(ctx context.Context, id verify.Topic, records []verify.Record, whole bool) (*laneVerdict, error) {
	v := &laneVerdict{copy: verify.NewRows(id, records), lake: verify.NewRows(id, records)}
	t := table.NewReader(r.db.DSN(""))
	defer t.Close()
	if err := r.lanes.look(ctx); err != nil { // the last state, too
		return nil, err
	}
	if err := t.Rows(ctx, table.Copy, func(rows []verify.Row) { v.copy.Add("the copy", rows) }); err != nil {
		return nil, err
	}
	var err error
	if v.ended, _, err = t.Ended(ctx); err != nil {
		return nil, err
	}
	seen := r.readLake(v)
	r.lanes.mu.Lock()
	defer r.lanes.mu.Unlock()
	v.looks = r.lanes.looks
	v.others = append(v.others, r.lanes.cover, r.lanes.rules, r.lanes.unfenced, verify.Early(r.lanes.lake, seen, places(records)))
	if whole {
		v.copy.Finish(nil)
		v.lake.Finish(nil)
		if v.ended == 0 {
			r.problem("harness", "no window was ever completed: nothing was rebuilt")
		}
	}
	return v, nil
}

// readLake reads the directory's files.
func (r *run) readLake(v *laneVerdict) verify.FirstSeen {
	incomplete := verify.Findings{Kind: "incomplete file of the lake"}
	seen := verify.FirstSeen{}
	for _, path := range visibleFiles(r.files) {
		f, err := readback.Parquet(path)
		if err != nil {
			incomplete.Add("%v", err)
			continue
		}
		v.lake.Add(f.Name, f.Rows)
		for _, row := range f.Rows {
			if _, there := seen[row.Place]; !there {
				seen[row.Place] = fileNumber(path) + 1
			}
		}
	}
	v.others = append(v.others, incomplete)
	return seen
}

// findings are all that there are, of the secondaries.
func (v *laneVerdict) findings() []verify.Findings {
	if v == nil {
		return nil
	}
	out := v.others
	for _, l := range v.named() {
		for _, f := range []verify.Findings{l.rows.Lost, l.rows.Duplicated, l.rows.Extra, l.rows.Wrong} {
			f.Kind = l.name + " " + f.Kind
			out = append(out, f)
		}
	}
	return out
}

type namedRows struct {
	name string
	rows *verify.Rows
}

func (v *laneVerdict) named() []namedRows { return []namedRows{{copyLane, v.copy}, {lakeLane, v.lake}} }

func (v *laneVerdict) caught() bool {
	for _, f := range v.findings() {
		if f.Count > 0 {
			return true
		}
	}
	return false
}

// print writes a line for each secondary.
func (v *laneVerdict) print(w io.Writer) {
	if v == nil {
		return
	}
	fmt.Fprintf(w, "%d windows completed; %d looks at coverage, floors and windows\n", v.ended, v.looks)
	for _, l := range v.named() {
		fmt.Fprintf(w, "secondary %s: rows=%d lost=%d duplicated=%d\n", l.name, l.rows.Count, l.rows.Lost.Count, l.rows.Duplicated.Count)
	}
}
