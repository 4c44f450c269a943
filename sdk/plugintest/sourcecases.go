package plugintest

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// sourceCases is the acceptance suite of sources.
var sourceCases = []testCase[*sourceRig]{
	{"describe", "Describe says what the plugin is, and does no I/O.", nil, func(r *sourceRig) { r.described(sdk.KindSource) }},
	{"configure", "Configure does no I/O, also where the service is out of reach; what is wrong with settings is diagnostics, without secrets.", nil, sourceConfigure},
	{"start", "Nothing of a stream is sent before its Start; the first span begins at Start's position.", nil, sourceStart},
	{"rows", "Null and empty keys, values and headers are distinct; headers keep order and repeat; any byte is legal.", nil, sourceRows},
	{"sizes", "A record of 5 MB travels alone; 1,000 records of 5 KB pass.", nil, sourceSizes},
	{"spans", "Each span begins where the run's last ended; rows lie inside, grouped by stream and ascending.", nil, sourceSpans},
	{"credit", "A source sends nothing without credit, and overdraws it by one frame at most.", nil, sourceCredit},
	{"commit", "Every Commit is answered, before Start too; it is stored when the answer says so.", broker, sourceCommit},
	{"drop", "After Drop nothing of the run is delivered or committed any more; the stream waits for a Start.", nil, sourceDrop},
	{"restart", "After kill -9 the streams come again with their committed positions, and a run can begin at any position that was delivered.", nil, sourceRestart},
	{"new-run", "A Start of a stream that runs drops the run before it.", nil, sourceNewRun},
	{"unassigned", "A Start of a stream that is not assigned is an error of kind fenced.", nil, sourceUnassigned},
	{"resolve", "Resolve answers with positions: earliest and latest. It moves nothing.", nil, sourceResolve},
	{"gap", "A position that cannot be read is a Gap of its run; the source does not reposition itself, and waits for a new Start.", nil, sourceGap},
	{"stop", "Stop while busy: Stopped within the deadline, and nothing is reported after it.", nil, sourceStop},
	{"revoke", "Revoking waits for Drop, and Commit is served meanwhile; who gets the stream begins at that position.", broker, sourceRevoke},
	{"signals", "SIGINT is the host's to act on; SIGTERM ends the session in good order, and the process.", nil, sourceSignals},
	{"ping", "A source without work lives as long as pings are answered.", nil, sourcePing},
	{"orphan", "A process whose host is killed stops at once, so that others get its streams, and exits within ten seconds.", nil, sourceOrphan},
}

func broker(c sdk.Capabilities) bool { return c.Position == sdk.PositionBroker }

func sourceConfigure(r *sourceRig) {
	p, caps := r.configured(r.service.Settings, 0)
	switch {
	case caps.Position != sdk.PositionBroker && caps.Position != sdk.PositionStore:
		failf("position %q: it is kept by the broker or by a store", caps.Position)
	case caps.Origin != sdk.OriginReplayable && caps.Origin != sdk.OriginResumable && caps.Origin != sdk.OriginNonReplayable:
		failf("origin %q is not known", caps.Origin)
	}
	if r.service.Unreachable != "" {
		r.configured(r.service.Unreachable, 0)
	}
	r.refuses(p.Describe(), r.service.Settings, r.cfg.Invalid)
}

func sourceStart(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	recs := r.produce(s, plain(0, 30))
	m.grant(1 << 20)
	m.nothing("before any Start")
	m.start(s, 0)
	m.receives(s, recs)
}

func sourceRows(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	recs := r.produce(s, odd(0))
	m.grant(1 << 20)
	m.start(s, 0)
	m.receives(s, recs)
}

func sourceSizes(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	recs := append(sized(0, 1, 5<<20), sized(1, 1000, 5<<10)...)
	r.produce(s, recs)
	m.grant(1 << 30)
	m.start(s, 0)
	m.receives(s, recs)
}

func sourceSpans(r *sourceRig) {
	m := r.join()
	streams := m.allStreams()
	m.grant(1 << 30)
	m.startAll(0)
	for p := int64(0); p < 500; p += 100 {
		for _, s := range streams {
			r.produce(s, plain(p, p+100))
		}
	}
	for _, s := range streams {
		m.receives(s, plain(0, 500))
	}
	m.close()
	m.get(func() { m.judge() })
}

// sourceCredit: what is sent without credit, the host's side of the stream
// takes for a protocol error.
func sourceCredit(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	recs := r.produce(s, plain(0, 1000)) // ten frames at least
	m.start(s, 0)
	m.nothing("without credit")
	m.grant(1)
	m.await("frame for one byte of credit", func() bool { return m.batches == 1 })
	m.nothing("after the credit was overdrawn")
	m.grant(1) // less than is owed
	m.nothing("while credit is still owed")
	m.grant(1 << 30)
	m.receives(s, recs)
}

func sourceCommit(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	must(m.commit(s, 1000, 0), "commit before Start")
	if at := r.committed(s); at != 0 {
		failf("the service holds %d after a commit of 0", at)
	}
	r.produce(s, plain(0, 40))
	m.grant(1 << 20)
	run := m.start(s, 0)
	m.receives(s, plain(0, 40))
	next := m.position(run)
	must(m.commit(s, run, next), "commit")
	if at := r.committed(s); at != next {
		failf("the service holds %d after a commit of %d was answered", at, next)
	}
	if err := m.commit(streamUnknown, 77, 1); err == nil {
		failf("a commit of a stream that is not there is answered as stored")
	}
}

func sourceDrop(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	r.produce(s, plain(0, 20))
	m.grant(1 << 30)
	run := m.start(s, 0)
	m.receives(s, plain(0, 20))
	ctx, cancel := soon()
	defer cancel()
	must(m.drop(ctx, run), "drop")
	r.produce(s, plain(20, 50))
	m.nothing("after Drop")
	at := m.position(run)
	if r.service.Committed != nil {
		before := r.committed(s)
		err := m.commit(s, run, at)
		if after := r.committed(s); after != before {
			failf("a commit after Drop moved the position from %d to %d", before, after)
		}
		if err == nil {
			failf("a commit after Drop is answered as stored")
		}
	}
	m.start(s, at)
	m.receives(s, plain(0, 50))
}

func sourceRestart(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	all := r.produce(s, plain(0, 60))
	m.grant(1 << 20)
	run := m.start(s, 0)
	m.receives(s, all)
	var middle int64
	m.get(func() { middle = m.rows[s][30].Position })
	if r.caps.Position == sdk.PositionBroker {
		must(m.commit(s, run, middle), "commit")
	}
	m.proc.Kill()
	m = r.join()
	if a := m.assignment(s); r.caps.Position == sdk.PositionBroker && a.Committed != middle {
		failf("%s comes with the committed position %d, want %d", s, a.Committed, middle)
	}
	m.grant(1 << 20)
	m.start(s, middle)
	m.receives(s, all[30:])
}

func sourceNewRun(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	r.produce(s, plain(0, 500))
	m.start(s, 0)
	m.grant(1)
	m.await("first frame", func() bool { return m.batches > 0 })
	m.settle()
	var had int
	m.get(func() { had = len(m.rows[s]); m.runs[1].over = true })
	m.start(s, 0)
	m.grant(1 << 30)
	m.await("rows of the second run", func() bool { return len(m.rows[s]) >= had+500 })
	m.nothing("though everything was delivered")
	m.get(func() { m.judge() })
}

func sourceUnassigned(r *sourceRig) {
	m := r.join()
	m.streams()
	ctx, cancel := soon()
	defer cancel()
	if _, err := m.tryStart(ctx, streamUnknown, 0); sdk.KindOf(err) != sdk.KindFenced {
		failf("start of a stream that is not assigned: %v, want an error of kind fenced", err)
	}
}

func sourceResolve(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	first := m.resolve(s, sdk.StartEarliest)
	r.produce(s, plain(0, 25))
	m.grant(1 << 20)
	last := m.resolve(s, sdk.StartLatest)
	if again := m.resolve(s, sdk.StartEarliest); again != first || last < first+25 {
		failf("earliest is %d and then %d, latest is %d after 25 records", first, again, last)
	}
	m.nothing("of a stream that was only asked about")
	run := m.start(s, last)
	r.produce(s, plain(25, 30))
	m.receives(s, plain(25, 30))
	if m.position(run) < last+5 {
		failf("the run is at %d, want %d", m.position(run), last+5)
	}
}

func sourceGap(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	recs := r.produce(s, plain(0, 10))
	m.grant(1 << 20)
	run := m.start(s, 1<<40)
	m.await("Gap", func() bool { return len(m.gaps) > 0 })
	g := m.gaps[0]
	if g.Stream != s || g.Run != run || g.Wanted != 1<<40 || g.Cause == 0 {
		failf("gap %+v, want one of %s, run %d, position %d", g, s, run, int64(1)<<40)
	}
	m.nothing("after Gap, without a Start")
	m.start(s, 0)
	m.receives(s, recs)
}

func sourceStop(r *sourceRig) {
	m := r.join()
	streams := m.allStreams()
	for _, s := range streams {
		r.produce(s, sized(0, 2000, 2<<10))
	}
	m.grant(1 << 30)
	m.startAll(0)
	m.await("first frame", func() bool { return m.batches > 0 })
	m.close()
	if m.within(quiet, func() bool { return m.tooLate > 0 }) {
		failf("a batch came after Stopped")
	}
	m.get(func() { m.judge() })
}

func sourceRevoke(r *sourceRig) {
	m := r.join()
	at := map[sdk.Stream]int64{}
	m.set(func() { m.onRevoking = m.commitInto(at) })
	m.grant(1 << 20)
	for _, s := range m.allStreams() {
		r.produce(s, plain(0, 20))
		m.start(s, 0)
		m.receives(s, plain(0, 20))
	}
	other := r.join()
	m.await("Revoking for a second member", func() bool { return len(m.revoking) > 0 })
	for s, next := range at {
		if a := other.assignment(s); a.Committed != next {
			failf("%s comes to the second member with position %d, want %d, which the first has committed", s, a.Committed, next)
		}
	}
	if len(at) == 0 {
		failf("Revoking named no run")
	}
}

// commitInto commits revoked runs as far as they have come, and notes it.
func (m *member) commitInto(at map[sdk.Stream]int64) func(context.Context, []uint64) {
	return func(_ context.Context, runs []uint64) {
		for _, id := range runs {
			var r run
			m.get(func() { r = *m.runs[id] })
			err := m.reader.Commit(context.Background(), []sdk.Mark{{Stream: r.stream, Run: id, Next: r.next}})
			m.set(func() {
				at[r.stream] = r.next
				if len(err) > 0 && err[0] != nil {
					m.breach("a commit while Revoking waits: %w", err[0])
				}
			})
		}
	}
}

func sourceSignals(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	m.interrupt(m.proc)
	recs := r.produce(s, plain(0, 5))
	m.grant(1 << 20)
	m.start(s, 0)
	m.receives(s, recs)
	terminate(m.proc)
}

func sourcePing(r *sourceRig) {
	m := r.joinWith(quiet / 5)
	s := m.streams()[0]
	if m.within(2*quiet, func() bool { return m.failed != nil }) {
		m.get(func() { m.judge() })
	}
	recs := r.produce(s, plain(0, 5))
	m.grant(1 << 20)
	m.start(s, 0)
	m.receives(s, recs)
	m.close()
}

func sourceOrphan(r *sourceRig) {
	pid, streams := r.killHost(r.service.Settings, false)
	began := time.Now()
	m := r.join()
	if !m.within(orphanTime-time.Since(began), func() bool { return len(m.assigned) >= streams }) {
		failf("another process was not given all %d streams within %v after the host was killed", streams, orphanTime)
	}
	leaves(pid, began)
}
