package sink

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// The model of the whole sink: two processes with sessions on one directory,
// which acquire, write, flush, are killed and lose power. It is dumb: it
// remembers which positions somebody was told are durable.

type place struct {
	s sdk.Stream
	p int64
}

// delivered: the other positions have no record (compaction, markers).
func delivered(p int64) bool { return p%3 != 1 }

type modelProc struct {
	dir    *disk.MemDir
	sink   *Sink
	ses    *session
	epochs map[sdk.Stream]sdk.Epoch
	sent   map[uint64]*sdk.Batch // not answered
}

type model struct {
	t       testing.TB
	m       *disk.Mem
	procs   [2]*modelProc
	durable map[place]bool
	owner   map[sdk.Stream]int // whose epoch is the newest; absent: nobody's
}

func (m *model) proc(i int) *modelProc {
	if m.procs[i] == nil {
		p := &modelProc{dir: m.m.Dir(), epochs: map[sdk.Stream]sdk.Epoch{}}
		p.sink = NewOn(func(string, bool) (disk.Dir, error) { return p.dir, nil })
		configure(m.t, p.sink, "mem", `,"row_group_rows":3,"max_file_rows":9`)
		m.session(p)
		m.procs[i] = p
	}
	return m.procs[i]
}

func (m *model) session(p *modelProc) {
	p.ses, p.sent = openSession(m.t, p.sink, sdk.GranularityBatch), map[uint64]*sdk.Batch{}
}

func (m *model) acquire(t *rapid.T, i int, s sdk.Stream) {
	p := m.proc(i)
	p.epochs[s] = acquire(m.t, p.sink, "p", s)
	m.owner[s] = i
}

func (m *model) write(t *rapid.T, i int, s sdk.Stream) {
	p := m.proc(i)
	from := rapid.Int64Range(0, 20).Draw(t, "from")
	next := from + rapid.Int64Range(1, 8).Draw(t, "length")
	var recs []frame.Record
	for at := from; at < next; at++ {
		if delivered(at) {
			recs = append(recs, rec(at))
		}
	}
	b := batchOf(m.t, s, p.epochs[s], from, next, recs...)
	p.sent[p.ses.write(b)] = b
}

// flush waits for all answers and holds them against the model.
func (m *model) flush(t *rapid.T, i int) {
	p := m.proc(i)
	p.ses.flush()
	seqs := make([]uint64, 0, len(p.sent))
	for seq := range p.sent {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		sp := p.sent[seq].Spans[0]
		owner, acquired := m.owner[sp.Stream]
		current := !acquired && sp.Epoch.IsZero() || acquired && owner == i && p.epochs[sp.Stream] == sp.Epoch
		switch got := p.ses.outcome(seq); got {
		case sdk.Durable:
			for at := sp.From; at < sp.Next; at++ {
				m.durable[place{sp.Stream, at}] = true
			}
		case sdk.Fenced:
			if current {
				t.Fatalf("batch %d: fenced under the current epoch", seq)
			}
		case sdk.Retryable:
		default:
			t.Fatalf("batch %d: %v, %v", seq, got, p.ses.failed)
		}
	}
	p.sent = map[uint64]*sdk.Batch{}
}

// check reads the files after each step. Nobody is told of anything here: a
// reader of the log would fsync the directory.
func (m *model) check(t *rapid.T) {
	seen := map[place]bool{}
	for _, r := range rows(m.t, m.m.Dir()) {
		at := place{sdk.Stream{Cluster: r.Cluster, Topic: r.Topic, Incarnation: r.Incarnation, Partition: r.Partition}, r.Position}
		if seen[at] {
			t.Fatalf("INV7: the row of %v is there twice", at)
		}
		if seen[at] = true; string(r.Value) != string(rec(r.Position).Value) {
			t.Fatalf("the row of %v is %q", at, r.Value)
		}
	}
	for at := range m.durable {
		if delivered(at.p) && !seen[at] {
			t.Fatalf("INV1, INV8: the row of %v was reported durable and is not there", at)
		}
	}
}

// coverage is told; check holds it against the files.
func (m *model) coverage(t *rapid.T, i int) {
	cov, err := m.proc(i).sink.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA, streamB})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cov {
		for _, i := range c.Set.Held() {
			for at := i.From; at < i.Next; at++ {
				m.durable[place{c.Stream, at}] = true
			}
		}
	}
}

func (m *model) kill(i int) {
	if p := m.procs[i]; p != nil {
		p.dir.Kill()
		p.ses.Writer.(*writer).abort()
		<-p.ses.Writer.(*writer).done
		m.procs[i] = nil
		for s, owner := range m.owner {
			if owner == i {
				m.owner[s] = -1 // it forgot its epoch
			}
		}
	}
}

func (m *model) reopen(i int) {
	p := m.proc(i)
	if err := p.ses.Close(context.Background()); err != nil {
		m.t.Error(err)
	}
	m.session(p)
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: t, m: disk.NewMem(), durable: map[place]bool{}, owner: map[sdk.Stream]int{}}
		defer func() { m.kill(0); m.kill(1) }()
		who := func(rt *rapid.T) (int, sdk.Stream) {
			i := rapid.IntRange(0, 1).Draw(rt, "process")
			return i, []sdk.Stream{streamA, streamB}[rapid.IntRange(0, 1).Draw(rt, "stream")]
		}
		write := func(rt *rapid.T) { i, s := who(rt); m.write(rt, i, s) }
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(rt *rapid.T) { i, s := who(rt); m.acquire(rt, i, s) },
			"write":   write, "write 2": write, "write 3": write,
			"coverage":    func(rt *rapid.T) { i, _ := who(rt); m.coverage(rt, i) },
			"flush":       func(rt *rapid.T) { i, _ := who(rt); m.flush(rt, i) },
			"kill":        func(rt *rapid.T) { i, _ := who(rt); m.kill(i) },
			"new session": func(rt *rapid.T) { i, _ := who(rt); m.reopen(i) },
			"power cut": func(rt *rapid.T) {
				m.m.PowerCut(func(what string) bool { return rapid.Bool().Draw(rt, what) })
				m.kill(0)
				m.kill(1)
			},
			"": m.check,
		})
	})
}
