package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
)

// catchUpWithin bounds the time until everything produced is committed, once
// the kills are over (INV4).
const catchUpWithin = 60 * time.Second

// verdict is what a run has shown.
type verdict struct {
	rows     *verify.Rows
	led      verify.Findings
	stale    verify.Findings   // writes of others than the owner
	others   []verify.Findings // each of them fails the run too
	lanes    *laneVerdict      // nil: there are no secondaries
	problems []string
	files    int
	records  int
}

// ok reports whether everything was as it must be.
func (v *verdict) ok() bool {
	for _, f := range v.others {
		if f.Count > 0 {
			return false
		}
	}
	return !v.caught() && v.rows.Extra.Count == 0 && v.rows.Wrong.Count == 0 && len(v.problems) == 0
}

// caught reports whether something was lost, duplicated, committed too early or
// written by somebody who did not own it.
func (v *verdict) caught() bool {
	return v.rows.Lost.Count > 0 || v.rows.Duplicated.Count > 0 || v.led.Count > 0 || v.stale.Count > 0 || v.lanes.caught()
}

// judge lets the pipeline catch up and stop, and reads topic and files anew.
// After a stall, or with a mutant, only what was committed counts as promised.
func (r *run) judge(ctx context.Context, stalled error) (*verdict, error) {
	promised := map[int32]int64(nil)
	if stalled != nil {
		r.problem("stalled", "%v", stalled)
	}
	if stalled != nil || r.opt.mutant != "" {
		r.killEverything()
		promised = r.watch.frontier()
	} else {
		r.finish(ctx)
	}
	id, records, err := readback.Topic(ctx, []string{r.broker.addr()}, topicName)
	if err != nil {
		return nil, err
	}
	v := &verdict{rows: verify.NewRows(id, records), records: len(records)}
	r.checkProducer(records)
	r.checkRaces()
	if r.db != nil {
		ends, err := readback.Ends(ctx, r.broker.addr(), topicName)
		if err == nil {
			err = r.readTable(ctx, v, ends)
		}
		if err != nil {
			return nil, err
		}
	} else {
		r.readFiles(v)
	}
	if r.lanes != nil {
		if v.lanes, err = r.readLanes(ctx, id, records, promised == nil); err != nil {
			return nil, err
		}
	}
	r.checkWatch(ctx)
	v.rows.Finish(promised)
	v.led = r.watch.led(places(records))
	v.others = append(v.others, r.watch.rewound, r.watch.incomplete)
	r.mu.Lock()
	defer r.mu.Unlock()
	v.problems = r.problems
	return v, nil
}

// finish waits until everything is committed and stops the host gracefully.
// One more host then has nothing to do, and must find that out by itself.
func (r *run) finish(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	want, err := readback.Ends(wait, r.broker.addr(), topicName)
	if err == nil {
		err = r.watch.waitReached(wait, want)
	}
	if err != nil {
		r.problem("stalled", "lag is not zero %s after the last kill: committed %v, the topic ends at %v: %v", catchUpWithin, r.watch.frontier(), want, err)
	}
	if r.lanes != nil {
		r.awaitRebuilt(ctx)
		r.hosts.roles[0] = "both"
	}
	for _, h := range r.hosts.all() {
		if how := h.stop(ctx); how != "" {
			r.problem("stop", "%s; see host.log", how)
		}
	}
	r.nothingLeft()
	if err := r.hosts.start("--until-caught-up"); err != nil {
		r.problem("host", "%v", err)
		return
	}
	if how := r.hosts.now().wait(ctx); how != "" {
		r.problem("stop", "with --until-caught-up and nothing to do: %s; see host.log", how)
	}
	r.nothingLeft()
}

// readFiles reads every visible file whole, a second time where the watcher
// read it before: a file must not change.
func (r *run) readFiles(v *verdict) {
	incomplete := verify.Findings{Kind: "incomplete file at the end"}
	outside := verify.Findings{Kind: "row outside of its file's spans"}
	checkpoints := verify.Findings{Kind: "checkpoint"}
	var spans, voids []verify.Span
	for _, path := range visibleFiles(r.files) {
		v.files++
		f, err := readback.Parquet(path)
		if err != nil {
			incomplete.Add("%v", err)
			continue
		}
		v.rows.Add(f.Name, f.Rows)
		verify.Inside(&outside, f.Name, f.Rows, f.Spans)
		if f.Checkpoint {
			verify.Checkpoint(&checkpoints, f.Name, f.State, spans)
		}
		spans, voids = append(spans, f.Spans...), append(voids, f.Voids...)
	}
	v.others = append(v.others, incomplete, outside, checkpoints, verify.Spans(spans, voids, r.watch.frontier()))
}

// checkProducer checks the harness itself: what the producer knows to stand in
// the topic is what was read from it.
func (r *run) checkProducer(records []verify.Record) {
	real, _, _ := r.prod.Counts()
	if n := len(records); n < real || n > real+r.prod.Unsure() {
		r.problem("harness", "the producer has written %d records and perhaps %d more, the topic holds %d", real, r.prod.Unsure(), n)
	}
}

// checkWatch checks the harness itself: every position that was relied on has
// been judged.
func (r *run) checkWatch(ctx context.Context) {
	if err := r.tap.Err(); err != nil {
		r.problem("harness", "%v", err)
	}
	if r.starts.seen() == 0 {
		r.problem("harness", "no source was seen to start")
	}
	if r.watch.table == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	if left := r.watch.table.settle(ctx); left > 0 {
		r.problem("harness", "%d positions that were relied on could not be looked for: the database does not answer", left)
	}
}

// checkRaces looks for reports of the race detector.
func (r *run) checkRaces() {
	reports, _ := filepath.Glob(filepath.Join(r.dir, raceLog+".*"))
	for _, f := range reports {
		r.problem("race", "the host has a data race; see %s", f)
	}
	if log, err := os.ReadFile(filepath.Join(r.dir, "host.log")); err == nil && bytes.Contains(log, []byte("DATA RACE")) {
		r.problem("race", "a plugin has a data race; see host.log")
	}
}

func places(records []verify.Record) []verify.Place {
	out := make([]verify.Place, len(records))
	for i, r := range records {
		out[i] = r.Place
	}
	return out
}

// lastLine is the line that a run ends with.
func (v *verdict) lastLine(kills int, seed uint64) string {
	return fmt.Sprintf("kills=%d lost=%d duplicated=%d led=%d seed=%d", kills, v.rows.Lost.Count, v.rows.Duplicated.Count, v.led.Count, seed)
}
