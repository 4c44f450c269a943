package plugintest

import (
	"context"
	"testing"
	"time"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// sourceRig is the host of one case's source.
type sourceRig struct {
	*bench
	cfg     SourceConfig
	service Service
	caps    sdk.Capabilities
}

// member is one process of the source, open.
type member struct {
	*events
	r    *sourceRig
	proc *plugins.Process
}

func runSource(t testing.TB, cfg SourceConfig, c testCase[*sourceRig]) error {
	r := &sourceRig{bench: newBench(t, cfg.Binary), cfg: cfg, service: cfg.Service(t)}
	defer r.end() // before t takes away what the processes write to
	return attempt(func() { c.run(r) })
}

// sourceCapabilities are those with a service's settings.
func sourceCapabilities(t testing.TB, cfg SourceConfig) (caps sdk.Capabilities) {
	b := newBench(t, cfg.Binary)
	if err := attempt(func() { _, caps = b.configured(cfg.Service(t).Settings, 0) }); err != nil {
		t.Fatal(err)
	}
	b.end()
	return caps
}

// join starts a process and opens the source.
func (r *sourceRig) join() *member {
	return r.joinWith(0)
}

func (r *sourceRig) joinWith(ping time.Duration) *member {
	p, caps := r.configured(r.service.Settings, ping)
	r.caps = caps
	ctx, cancel := soon()
	defer cancel()
	m := &member{newEvents(), r, p}
	m.carries = r.cfg.Carries
	reader, err := p.Source().Open(ctx, m.events)
	must(err, "open the source")
	m.attach(reader)
	return m
}

// await waits for a condition; what breaks a rule meanwhile ends the case.
func (e *events) await(what string, ok func() bool) {
	done := e.within(patience, func() bool { return ok() || e.failed != nil || e.broken != nil })
	e.get(func() { e.judge() })
	if !done {
		failf("no %s within %v", what, patience)
	}
}

// judge fails if a rule was broken or the source has failed. The board is
// held.
func (e *events) judge() {
	if e.broken != nil {
		failf("the source broke a rule: %w", e.broken)
	}
	if e.failed != nil {
		failf("the source failed: %w", e.failed)
	}
}

// streams waits until at least one stream is assigned, and returns all that
// are.
func (e *events) streams() (out []sdk.Stream) {
	e.await("stream was assigned", func() bool { return len(e.assigned) > 0 })
	e.get(func() {
		for _, a := range e.assigned {
			out = append(out, a.Stream)
		}
	})
	return out
}

// allStreams waits until no more streams are assigned.
func (e *events) allStreams() []sdk.Stream {
	for all := e.streams(); ; all = e.streams() {
		if !e.within(quiet/2, func() bool { return len(e.assigned) > len(all) }) {
			return all
		}
	}
}

// assignment is the newest of a stream.
func (e *events) assignment(s sdk.Stream) (out sdk.Assignment) {
	e.await("assignment of "+s.String(), func() bool {
		for _, a := range e.assigned {
			if a.Stream == s {
				out = a
			}
		}
		return out.Stream == s
	})
	return out
}

// start begins a run and returns its number.
func (e *events) start(s sdk.Stream, position int64) uint64 {
	ctx, cancel := soon()
	defer cancel()
	id, err := e.tryStart(ctx, s, position)
	must(err, "start "+s.String())
	return id
}

// tryStart begins a run. A stream's run before it ends with it, but what had
// been sent of it may still come.
func (e *events) tryStart(ctx context.Context, s sdk.Stream, position int64) (uint64, error) {
	var id uint64
	e.set(func() {
		e.lastRun++
		id = e.lastRun
		e.runs[id] = &run{stream: s, from: position, next: position}
	})
	return id, e.reader.Start(ctx, []sdk.Start{{Stream: s, Run: id, Position: position}})
}

// startAll starts all streams that are assigned.
func (e *events) startAll(position int64) {
	for _, s := range e.allStreams() {
		e.start(s, position)
	}
}

func (e *events) commit(s sdk.Stream, run uint64, next int64) error {
	ctx, cancel := soon()
	defer cancel()
	errs := e.reader.Commit(ctx, []sdk.Mark{{Stream: s, Run: run, Next: next}})
	if ctx.Err() != nil {
		failf("a commit of %s was not answered within %v", s, patience)
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// resolve asks for a position.
func (e *events) resolve(s sdk.Stream, at sdk.StartAt) int64 {
	ctx, cancel := soon()
	defer cancel()
	got, err := e.reader.Resolve(ctx, []sdk.Query{{Stream: s, At: at}})
	must(err, "resolve "+at.String())
	if len(got) != 1 || got[0].Stream != s || got[0].Position < 0 {
		failf("resolve %s of %s: %+v", at, s, got)
	}
	return got[0].Position
}

// receives waits for n rows of a stream and compares all of them.
func (e *events) receives(s sdk.Stream, want []frame.Record) {
	want = carried(want, e.carries)
	e.await("row of all that was produced", func() bool { return len(e.rows[s]) >= len(want) })
	e.get(func() {
		if len(e.rows[s]) != len(want) {
			failf("%d rows of %s, want %d", len(e.rows[s]), s, len(want))
		}
		for i, got := range e.rows[s] {
			if d := differ(got, want[i]); d != "" {
				failf("row %d of %s, at position %d: %s", i, s, got.Position, d)
			}
		}
	})
}

// nothing fails if a batch comes within a moment.
func (e *events) nothing(why string) {
	var n int
	e.get(func() { n = e.batches })
	if e.within(quiet, func() bool { return e.batches > n || e.failed != nil }) {
		e.get(func() {
			e.judge()
			failf("a batch came %s", why)
		})
	}
}

// position is how far a run has come.
func (e *events) position(run uint64) (next int64) {
	e.get(func() { next = e.runs[run].next })
	return next
}

func (e *events) close() {
	ctx, cancel := soon()
	defer cancel()
	must(e.reader.Close(ctx), "stop")
	e.set(func() { e.over = true })
}

func (r *sourceRig) produce(s sdk.Stream, recs []frame.Record) []frame.Record {
	must(r.service.Produce(s, carried(recs, r.cfg.Carries)...), "produce")
	return recs
}

// carried is what a service can hold of records.
func carried(recs []frame.Record, carries func(frame.Record) frame.Record) []frame.Record {
	if carries == nil {
		return recs
	}
	out := make([]frame.Record, len(recs))
	for i, r := range recs {
		out[i] = carries(r)
	}
	return out
}

// committed is what the service holds.
func (r *sourceRig) committed(s sdk.Stream) int64 {
	at, err := r.service.Committed(s)
	must(err, "read the committed position")
	return at
}
