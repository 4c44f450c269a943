package plugintest

import (
	"github.com/twg-io/twg/sdk"
)

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

func sourceStorePosition(r *sourceRig) {
	m := r.join()
	s := m.streams()[0]
	r.produce(s, plain(0, 40))
	m.grant(1 << 20)
	run := m.start(s, 0)
	m.receives(s, plain(0, 40))
	must(m.commit(s, run, m.position(run)), "commit")
	if err := m.commit(streamUnknown, 77, 1); err == nil {
		failf("a commit of a stream that is not there is answered without an error")
	}
	m.proc.Kill()
	if a := r.join().assignment(s); a.Committed != sdk.NoPosition {
		failf("%s comes with position %d, which the source says that a store keeps", s, a.Committed)
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
