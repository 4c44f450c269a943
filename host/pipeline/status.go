package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/twg-io/twg/host/lane"
	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
)

// Status is where a pipeline stands.
type Status struct {
	Records int64 // made durable by this run, as the sink answered
	Bytes   int64 // their frames, in proportion
	// FirstRecord is when the first record came, LastDurable when the newest
	// receipt did.
	FirstRecord    time.Time
	LastDurable    time.Time
	InFlight       int64 // bytes of the frames that are held
	Alarms         int
	SourceRestarts int
	SinkRestarts   int
	SinkOpen       bool
	SinkReached    bool // a session was open at some time
	// SinkError is why the newest session has ended or could not be opened; nil
	// while one is open.
	SinkError   error
	Flow        Flow
	Streams     []StreamStatus
	Secondaries []SecondaryStatus
	Observed    Observed
}

// SecondaryStatus is where a secondary stands.
type SecondaryStatus struct {
	Name string
	// Live is the live lane, Measured what it was sent; the zero values in a
	// recovery host.
	Live     lane.Status
	Measured Measured
	// Backlog is what recovery has left to do; the zero value in an ingest
	// host.
	Backlog recovery.Backlog
}

// Backlog is what recovery has left to do of all secondaries, and of each. Of a
// host that does not recover it is all zeros, and Backlog.At says so.
func (s Status) Backlog() recovery.Total {
	sinks := make([]recovery.SinkBacklog, len(s.Secondaries))
	for i, x := range s.Secondaries {
		sinks[i] = recovery.SinkBacklog{Lane: x.Name, Backlog: x.Backlog}
	}
	return recovery.Sum(sinks)
}

// StreamStatus is where one stream stands.
type StreamStatus struct {
	Stream    sdk.Stream
	Committed int64 // sdk.NoPosition: nothing yet
	Frontier  int64
	Tail      int64
	End       int64 // -1: not known
	// LagAge is how long the oldest record that is not committed has been there;
	// negative: not known. Holes are gaps in what the sink holds.
	LagAge time.Duration
	Holes  int
}

// Lag is what is not committed yet, as far as the end is known.
func (s StreamStatus) Lag() int64 {
	if s.End < 0 {
		return 0
	}
	return max(s.End-max(s.Committed, 0), 0)
}

// Status may be called at any time, from any goroutine, once Run has begun.
func (p *Pipeline) Status() Status {
	reply := make(chan Status, 1)
	p.box.post(func() { reply <- p.snapshot() })
	select {
	case s := <-reply:
		return s
	case <-p.done:
		return p.stat // the loop is over: nobody writes it any more
	}
}

func (p *Pipeline) snapshot() Status {
	p.stat.InFlight = p.flow.adm.Frames()
	p.stat.Flow = p.flow.status()
	p.stat.SinkOpen = p.out.ses != nil
	p.stat.Streams = nil
	p.stat.Secondaries = p.secondaries()
	p.observe()
	now, waiting := time.Now(), p.oldestWaiting()
	for _, st := range p.streams {
		s := StreamStatus{Stream: st.key, Committed: sdk.NoPosition, End: st.end}
		if g, ok := p.gate.Run(st.run); ok {
			s.Committed, s.Frontier, s.Tail = g.Committed, g.Frontier, g.Tail
		}
		s.LagAge, s.Holes = st.lagAge(now, s.Committed, waiting[st.run]), st.holes()
		p.stat.Streams = append(p.stat.Streams, s)
	}
	slices.SortFunc(p.stat.Streams, func(a, b StreamStatus) int {
		if c := strings.Compare(a.Stream.Topic, b.Stream.Topic); c != 0 {
			return c
		}
		return int(a.Stream.Partition) - int(b.Stream.Partition)
	})
	return p.stat
}

func (p *Pipeline) sawFirstRecord(it *item) {
	if p.stat.FirstRecord.IsZero() && it.batch.Frame.NumRecords() > 0 {
		p.stat.FirstRecord = time.Now()
	}
}

func (p *Pipeline) sawDurable(it *item, _ int, rows int) {
	p.stat.LastDurable = time.Now()
	p.stat.Records += int64(rows)
	if n := it.batch.Frame.NumRecords(); n > 0 {
		p.stat.Bytes += it.batch.Bytes() * int64(rows) / int64(n)
	}
}

// allReceived reports whether everything up to the targets has come from the
// source.
func (p *Pipeline) allReceived() bool {
	for _, st := range p.streams {
		s, ok := p.gate.Run(st.run)
		if !ok || !st.ended && (st.target < 0 || s.Tail < st.target) {
			return false
		}
	}
	return len(p.streams) > 0 || p.topics.nothingThere()
}

// caughtUp reports whether everything that the streams had when they were
// first asked about is durable and committed.
func (p *Pipeline) caughtUp() bool {
	if !p.allReceived() || p.commits.busy {
		return false
	}
	for _, st := range p.streams {
		s, _ := p.gate.Run(st.run)
		want := st.target
		if st.ended {
			want = s.Tail
		}
		// A committed position above the frontier is not ours, or is about to be
		// rewound.
		if s.Frontier < want || s.Committed < want || s.Committed > s.Frontier {
			return false
		}
	}
	return true
}

func (p *Pipeline) secondaries() []SecondaryStatus {
	out := make([]SecondaryStatus, len(p.cfg.Secondaries))
	for i, s := range p.cfg.Secondaries {
		out[i].Name = s.Name
		if i < len(p.lanes) {
			out[i].Live, out[i].Measured = p.lanes[i].Status(), p.meters[i].read()
		}
	}
	for i, w := range p.workers {
		for k := range out {
			if out[k].Name == p.workerNames[i] {
				out[k].Backlog = w.Backlog()
			}
		}
	}
	return out
}
