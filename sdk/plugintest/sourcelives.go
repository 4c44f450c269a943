package plugintest

import (
	"context"
	"maps"
	"time"

	"github.com/twg-io/twg/sdk"
)

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
	var first map[sdk.Stream]int64 // a second Revoking may follow
	m.get(func() { first = maps.Clone(at) })
	for s, next := range first {
		if a := other.assignment(s); a.Committed != next {
			failf("%s comes to the second member with position %d, want %d, which the first has committed", s, a.Committed, next)
		}
	}
	if len(first) == 0 {
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
