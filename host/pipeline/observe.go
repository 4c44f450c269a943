package pipeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// Observed is what a Status says for health and metrics alone. Times are zero
// where there is nothing to date.
type Observed struct {
	Stopping bool
	// SourceOpen: the source is. SourceError is why its last life has ended, and
	// SourceSince when, until a new one is seen to work.
	SourceOpen  bool
	SourceError error
	SourceSince time.Time
	// Pending and Absent say which topics cannot be read now and why; empty:
	// all can. A source whose servers do not answer says so of all.
	Pending, Absent           string
	PendingSince, AbsentSince time.Time
	// SinkSince is since when there is no session for SinkError.
	SinkSince time.Time
	// Batches were received and are not durable in full; Oldest is when the
	// first of them came.
	Batches int
	Oldest  time.Time
	// Uncommitted is since when something durable waits to be committed.
	Uncommitted             time.Time
	Commits, CommitFailures int64
	CommitError             error
	CommitSince             time.Time
	// Measured is of the gating sink.
	Measured
}

// observe completes the status, on the loop.
func (p *Pipeline) observe() {
	o := &p.stat.Observed
	o.Stopping = p.stopping != nil
	o.SourceOpen = p.src != nil && p.src.isOpen()
	if p.sourceWorks() {
		o.SourceError, o.SourceSince = nil, time.Time{}
	}
	o.Pending, o.Absent = p.topics.about(p.topics.isPending), p.topics.about(isAbsent)
	o.PendingSince, o.AbsentSince = p.topics.pendingSince, p.topics.since
	o.Batches, o.Oldest = len(p.out.items), time.Time{}
	if len(p.out.items) > 0 {
		o.Oldest = p.out.items[0].came
	}
	o.Uncommitted = p.commits.since
}

// sourceWorks reports whether the source is open and has said something since,
// or at least has not failed for long: some open before they reach anybody.
func (p *Pipeline) sourceWorks() bool {
	return p.src != nil && p.src.isOpen() && (len(p.streams) > 0 || len(p.topics.list) > 0 || time.Since(p.src.began) >= 2*healthyAfter)
}

// sourceDown notes why a source has ended.
func (o *Observed) sourceDown(err error) {
	o.SourceOpen, o.SourceError = false, err
	if o.SourceSince.IsZero() {
		o.SourceSince = time.Now()
	}
}

// sinkDown notes that a session has ended, or could not be opened.
func (o *Observed) sinkDown() {
	if o.SinkSince.IsZero() {
		o.SinkSince = time.Now()
	}
}

// commitDone notes how a commit went.
func (o *Observed) commitDone(err error) {
	o.Commits++
	o.CommitError = err
	if err == nil {
		o.CommitSince = time.Time{}
		return
	}
	o.CommitFailures++
	if o.CommitSince.IsZero() {
		o.CommitSince = time.Now()
	}
}

func isAbsent(x sdk.Topic) bool { return x.Presence == sdk.TopicAbsent }

// toldTopics bounds how many topics a status names.
const toldTopics = 5

// about says of which topics something holds, and why.
func (t *topics) about(holds func(sdk.Topic) bool) string {
	var parts []string
	n := 0
	for _, x := range t.list {
		if !holds(x) {
			continue
		}
		if n++; n <= toldTopics {
			parts = append(parts, fmt.Sprintf("topic %q cannot be read: %s", x.Name, x.Reason))
		}
	}
	if n > toldTopics {
		parts = append(parts, fmt.Sprintf("and %d more", n-toldTopics))
	}
	return strings.Join(parts, "; ")
}

// oldestWaiting is, for each stream's run, when by its timestamp the oldest
// record was made that is here and not durable; in milliseconds since 1970. Of
// very many batches only the first are looked at.
func (p *Pipeline) oldestWaiting() map[uint64]int64 {
	out := make(map[uint64]int64, len(p.byRun))
	for i, it := range p.out.items {
		if i == lookedAt || len(out) == len(p.byRun) {
			break
		}
		for k, r := range it.rows {
			run := it.batch.Spans[k].Run
			if _, seen := out[run]; !seen && len(it.left[k]) > 0 && r.From < r.To {
				out[run] = it.batch.Frame.TimestampMS(r.From)
			}
		}
	}
	return out
}

const lookedAt = 4096

// ends is what a stream's source has said about its end, thinned out evenly.
type ends struct {
	seen []endAt       // apart by step at least
	step time.Duration // grows with the time that seen spans
	last endAt
}

type endAt struct {
	at  time.Time
	end int64
}

// maxEnds bounds how many are kept. Once they are as many, every other one
// goes: the age of a lag is then known to a thirtieth of it.
const maxEnds = 64

func (e *ends) add(at time.Time, end int64) {
	if e.last.end >= end && !e.last.at.IsZero() {
		return
	}
	e.last = endAt{at, end}
	n := len(e.seen)
	if n > 0 && at.Sub(e.seen[n-1].at) < e.step {
		return
	}
	if n == maxEnds {
		for i := range maxEnds / 2 {
			e.seen[i] = e.seen[2*i]
		}
		e.seen = e.seen[:maxEnds/2]
		e.step = e.last.at.Sub(e.seen[0].at) / (maxEnds / 2)
	}
	e.seen = append(e.seen, e.last)
}

// passed is since when the end is known to lie above position; zero: it does
// not.
func (e *ends) passed(position int64) time.Time {
	for len(e.seen) > 0 && e.seen[0].end <= position {
		e.seen = e.seen[1:]
	}
	switch {
	case len(e.seen) > 0:
		return e.seen[0].at
	case e.last.end > position:
		e.step = 0
		return e.last.at
	}
	e.step = 0
	return time.Time{}
}

// lagAge is how long the oldest record that is not committed has been there, as
// far as the source's word about its end and the records' timestamps tell; a
// negative number: the end is not known.
func (st *stream) lagAge(now time.Time, committed, waitingMS int64) time.Duration {
	if st.end < 0 {
		return -1
	}
	since := st.ends.passed(max(committed, 0))
	if st.end <= committed || since.IsZero() {
		return 0
	}
	age := now.Sub(since)
	if waitingMS > 0 {
		age = max(age, now.Sub(time.UnixMilli(waitingMS)))
	}
	return max(age, 0)
}

// holes are the gaps below the highest position that the sink is known to hold
// of the run.
func (st *stream) holes() int { return max(len(st.held.Held())-1, 0) }
