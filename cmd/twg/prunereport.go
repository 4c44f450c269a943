package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// pruneReport is what twg raw prune --json prints.
type pruneReport struct {
	Gate    string        `json:"gate"`
	DryRun  bool          `json:"dry_run"`
	Streams []prunedTally `json:"streams"`
	Rows    int64         `json:"rows"`
}

type prunedTally struct {
	streamName
	// Floor is where raw begins afterwards, Rows is what was deleted.
	Floor int64 `json:"floor"`
	Rows  int64 `json:"rows"`
	// KeptFor lacks KeptFrom: more would have been deleted without it.
	KeptFor  string `json:"kept_for,omitempty"`
	KeptFrom int64  `json:"kept_from"`
	// Lost are positions that a secondary lacks and that are gone, Final those
	// that one had refused and that can no longer be retried.
	Lost  int64 `json:"lost"`
	Final int64 `json:"rejected_final"`
}

// ask says what the store is asked to delete, and begins the report.
func (c *rawPruneCmd) ask(s *standing, limit int64, older time.Time) (asked []sdk.Prune, r pruneReport) {
	r.DryRun, r.Streams = c.DryRun, []prunedTally{}
	bounds := s.bounds(c.KeepRejected)
	for i, stream := range s.streams {
		t := prunedTally{streamName: nameOf(stream)}
		to := min(limit, s.raw[i].FirstHole())
		if b := bounds[i]; b.below < to && !c.EvenIfMissing {
			to = b.below
			t.KeptFor, t.KeptFrom = b.keeper, b.below
		}
		asked = append(asked, sdk.Prune{Stream: stream, Below: to, OlderThan: older})
		r.Streams = append(r.Streams, t)
	}
	return asked, r
}

// done adds what the store answered.
func (r *pruneReport) done(answers []sdk.Pruned, s *standing) {
	for _, a := range answers {
		i, asked := s.index[a.Stream]
		if !asked {
			continue
		}
		t := &r.Streams[i]
		t.Floor, t.Rows = a.RawFloor, a.Rows
		r.Rows += a.Rows
		for _, l := range s.lanes {
			t.Lost += positions(below(l.streams[i].missing, a.RawFloor))
			for _, aside := range l.streams[i].aside {
				t.Final += positions(below(s.raw[i].HeldWithin(aside), a.RawFloor))
			}
		}
	}
}

func (r pruneReport) write(w io.Writer) error {
	var b strings.Builder
	verb := "Deleted"
	if r.DryRun {
		verb = "Would delete"
	}
	fmt.Fprintf(&b, "%s %s from sink %q.\n\n", verb, groupedCount(r.Rows, "row"), r.Gate)
	names := namer{}
	for _, s := range r.Streams {
		names.add(s.streamName)
	}
	t := table(&b, "stream", "begins at", "rows", "kept for")
	for _, s := range r.Streams {
		t.row(names.text(s.streamName), grouped(s.Floor), grouped(s.Rows), s.kept())
	}
	t.w.Flush()
	for _, s := range r.Streams {
		s.warn(&b, names.text(s.streamName), r.DryRun)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t prunedTally) kept() string {
	if t.KeptFor == "" {
		return "-"
	}
	return fmt.Sprintf("%s, from %s", t.KeptFor, grouped(t.KeptFrom))
}

// warn says what can no longer be rebuilt or retried.
func (t prunedTally) warn(b *strings.Builder, name string, dryRun bool) {
	would := ""
	if dryRun {
		would = "would be "
	}
	if t.Lost > 0 {
		fmt.Fprintf(b, "%s: %s %slost to secondary sinks.\n", name, groupedCount(t.Lost, "position"), would)
	}
	if t.Final > 0 {
		fmt.Fprintf(b, "%s: %s that a secondary sink had refused can no longer be retried.\n", name, groupedCount(t.Final, "position"))
	}
}
