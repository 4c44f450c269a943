package plugintest

import (
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
	{"store-position", "A source whose position a store keeps comes without one, also after its restart, and answers every Commit all the same.", storeManaged, sourceStorePosition},
	{"drop", "After Drop nothing of the run is delivered or committed any more; the stream waits for a Start.", nil, sourceDrop},
	{"restart", "After kill -9 the streams come again with their committed positions, and a run can begin at any position that was delivered.", again, sourceRestart},
	{"new-run", "A Start of a stream that runs drops the run before it.", again, sourceNewRun},
	{"unassigned", "A Start of a stream that is not assigned is an error of kind fenced.", nil, sourceUnassigned},
	{"resolve", "Resolve answers with positions: earliest and latest. It moves nothing.", hasRecords, sourceResolve},
	{"gap", "A position that cannot be read is a Gap of its run; the source does not reposition itself, and waits for a new Start.", again, sourceGap},
	{"stop", "Stop while busy: Stopped within the deadline, and nothing is reported after it.", nil, sourceStop},
	{"revoke", "Revoking waits for Drop, and Commit is served meanwhile; who gets the stream begins at that position.", broker, sourceRevoke},
	{"signals", "SIGINT is the host's to act on; SIGTERM ends the session in good order, and the process.", nil, sourceSignals},
	{"ping", "A source without work lives as long as pings are answered.", nil, sourcePing},
	{"orphan", "A process whose host is killed stops at once, so that others get its streams, and exits within ten seconds.", nil, sourceOrphan},
}

func broker(c sdk.Capabilities) bool { return c.Position == sdk.PositionBroker }

func storeManaged(c sdk.Capabilities) bool { return c.Position == sdk.PositionStore }

// again: what was delivered can be had again.
func again(c sdk.Capabilities) bool { return c.Origin != sdk.OriginNonReplayable }

// hasRecords: the source itself has the records, and knows where they end.
func hasRecords(c sdk.Capabilities) bool { return c.Origin == sdk.OriginReplayable }

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
