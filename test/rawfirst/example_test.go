//go:build services

package rawfirst

import (
	"testing"
	"time"
)

// The example as it is, with a host that ingests and one that recovers, and a
// topic that is written to all the time. Every box of the figure in
// docs/recovery.md dies, by its letter; the source never waits for longer than
// it takes to start what died, and in the end nothing is missing anywhere.
func TestExampleSurvives(t *testing.T) {
	w := newWorld(t)
	stop := w.produce()
	ingest, recovery := w.start("ingest"), w.start("recovery")
	w.goesOn(ingest, "the start")

	w.sourceDies(ingest)
	w.rawDies(ingest)
	w.goesOn(ingest, "the death of raw's server")
	ingest = w.secondaryAndIngestHostDie(ingest)
	recovery = w.recoveryHostDies(ingest, recovery)

	stop()
	w.isRebuilt(ingest, recovery)
	w.compare()
}

// A: the source's plugin, and its server.
func (w *world) sourceDies(ingest *host) {
	w.t.Helper()
	dead := w.members()
	ingest.killPlugin("kafka-source", "")
	w.bury(dead)
	w.goesOn(ingest, "the death of the source's plugin")
	w.broker.Node(0).Kill()
	must(w.t, w.broker.Node(0).Start(w.t.Context()))
	w.goesOn(ingest, "the death of the broker")
}

// C: raw's plugin, and its server.
func (w *world) rawDies(ingest *host) {
	w.t.Helper()
	ingest.killPlugin("postgres", w.raw.Addr())
	w.goesOn(ingest, "the death of raw's plugin")
	w.raw.Kill()
	must(w.t, w.raw.Start(w.t.Context()))
}

// D: the plugins of both secondaries, then the server of one, which stays away;
// meanwhile B, the host that ingests. What lay in its buffers is recovery's now.
func (w *world) secondaryAndIngestHostDie(ingest *host) *host {
	w.t.Helper()
	ingest.killPlugin("postgres", w.copy.Addr())
	ingest.killPlugin("parquet", "")
	w.goesOn(ingest, "the death of the secondaries' plugins")
	w.copy.Kill()
	w.goesOn(ingest, "the death of the copy's server")

	dead := w.members()
	ingest.Kill()
	w.bury(dead)
	ingest = w.start("ingest")
	w.goesOn(ingest, "the death of the host that ingests, while the copy's server is away")
	if s := w.status(); s.Backlog.Positions == 0 {
		w.t.Errorf("the copy's server was away, and nothing is to be rebuilt: %+v", s.Backlog)
	}
	return ingest
}

// E: the host that recovers, in the middle of a window of the copy. A lock on
// the copy's table holds it there.
func (w *world) recoveryHostDies(ingest, recovery *host) *host {
	w.t.Helper()
	must(w.t, w.copy.Start(w.t.Context()))
	at := connect(w.t, w.copy)
	tx, err := at.Begin(w.t.Context())
	must(w.t, err)
	_, err = tx.Exec(w.t.Context(), "lock table "+copyTable+" in access exclusive mode")
	must(w.t, err)
	var held window
	recovery.Eventually("a claimed window of the copy", func() (ok bool) { held, ok = w.claimed("copy"); return ok })
	recovery.Kill()
	must(w.t, tx.Rollback(w.t.Context()))

	next := w.start("recovery")
	w.goesOn(ingest, "the death of the host that recovers")
	next.killPlugin("postgres", w.raw.Addr()) // what it works on is free again about when the dead host's window is
	next.Eventually("another claim of the dead host's window, or its end", func() bool { return w.fence(held.ID) != held.Fence })
	w.t.Logf("%.0f s: window %d, held under fence %d by a host that died, went to another", time.Since(w.begun).Seconds(), held.ID, held.Fence)
	return next
}
