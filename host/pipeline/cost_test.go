package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/twg-io/twg/host/ackgate"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

// passage takes batches through admission and the gate, as the loop does: grant,
// receive, sample, track, receipt, release. Batches are in flight, and receipts
// come in another order than batches went out.
type passage struct {
	adm     *flow.Admission
	gate    *ackgate.Gate
	loads   []*flow.Stream
	open    [][]sdk.Span // a ring: those in flight, by batch
	outs    []sdk.Outcome
	ready   []ackgate.Committable
	next    uint64 // batch
	at      []int64
	answers []uint64 // in which order those in flight are answered
}

const (
	passFrame, passRows = 256 << 10, 512
	passInFlight        = 32
)

func newPassage(t testing.TB, streams int) *passage {
	p := &passage{
		adm:   flow.NewAdmission(flow.AdmissionConfig{Budget: 1 << 30, Overdraft: 64 << 20, ItemOverhead: itemOverhead, RowOverhead: rowOverhead, WarmUp: flow.WarmUp{Fraction: 1}}),
		gate:  ackgate.New(),
		open:  make([][]sdk.Span, passInFlight),
		outs:  make([]sdk.Outcome, streams),
		at:    make([]int64, streams),
		loads: make([]*flow.Stream, streams),
	}
	for i := range streams {
		p.loads[i] = p.adm.Join()
		if _, err := p.gate.Start(uint64(i)+1, sdk.Stream{Topic: "t", Partition: int32(i)}, 0, 0, sdk.GranularityBatch); err != nil {
			t.Fatal(err)
		}
	}
	for i := range p.open {
		p.open[i] = make([]sdk.Span, streams)
		p.answers = append(p.answers, uint64(i^5)) // pairs and fours change places
	}
	return p
}

// round sends what may be in flight, and answers it.
func (p *passage) round(t testing.TB) {
	first := p.next
	for i := range p.open {
		p.send(t, p.open[i])
	}
	for _, i := range p.answers {
		for k, s := range p.open[i] {
			p.outs[k] = sdk.Outcome{Stream: s.Stream, Run: s.Run, From: s.From, Next: s.Next, Kind: sdk.Durable}
		}
		if err := p.gate.Complete(first+i, p.outs); err != nil {
			t.Fatal(err)
		}
		p.adm.Acked()
		p.adm.Release(passFrame, passRows)
	}
	p.ready = p.gate.Ready(p.ready[:0])
	for _, c := range p.ready {
		p.gate.Committed(c)
	}
	if len(p.ready) != len(p.loads) {
		t.Fatalf("%d of %d streams may be committed", len(p.ready), len(p.loads))
	}
}

func (p *passage) send(t testing.TB, spans []sdk.Span) {
	if n := p.adm.Grantable(); n > 0 {
		p.adm.Granted(time.Time{}, n)
	}
	if v := p.adm.Receive(passFrame, passRows); v != flow.Admitted {
		t.Fatalf("verdict %d", v)
	}
	for i := range spans {
		spans[i] = sdk.Span{Stream: sdk.Stream{Topic: "t", Partition: int32(i)}, Run: uint64(i) + 1, From: p.at[i], Next: p.at[i] + passRows}
		p.at[i] += passRows
		p.adm.Sample(p.loads[i], 1+float64(p.next%97)/100)
	}
	if err := p.gate.Track(p.next, spans); err != nil {
		t.Fatal(err)
	}
	p.next++
}

// BenchmarkAdmissionAndGate reports ns per batch and stream.
func BenchmarkAdmissionAndGate(b *testing.B) {
	for _, streams := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			p := newPassage(b, streams)
			p.round(b)
			b.ReportAllocs()
			for b.Loop() {
				p.round(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*passInFlight*streams), "ns/batch-stream")
		})
	}
}

func TestAdmissionAndGateAllocateNothing(t *testing.T) {
	p := newPassage(t, 8)
	p.round(t)
	if n := testing.AllocsPerRun(200, func() { p.round(t) }); n != 0 {
		t.Errorf("%v allocations for %d batches", n, passInFlight)
	}
}
