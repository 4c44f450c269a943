package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

// FlowControl says how the memory budget is used. Zero values are the defaults
// of the package flow, and of the constants below.
type FlowControl struct {
	// RecordSize is what a record is expected to take at least, in bytes; 0: not
	// said.
	RecordSize int64
	WarmUp     flow.WarmUp
	Pressure   flow.PressureConfig
	Stuck      flow.StuckConfig
	// Hang is how long the loop itself may give no sign of life. Hung is called
	// once it has reached the last level, from a goroutine that the loop does not
	// wait for: it should end the process. nil: nobody watches the loop.
	Hang flow.HangConfig
	Hung func(error)
	// Memory returns what host and plugins have resident, and what they may
	// have, in bytes; a limit of 0: not known. It is called once a second from a
	// goroutine of its own. nil: nothing is known, and memory never counts.
	Memory func() (resident, limit int64)
}

// DefaultWarmUp is where FlowControl has the zero value.
var DefaultWarmUp = flow.WarmUp{Fraction: .25, Acks: 32, Timeout: 30 * time.Second}

// ErrStuck: memory is high, nothing waits for the sink, and nothing has become
// durable for so long that nothing ever will. Another process may do better.
var ErrStuck = errors.New("the pipeline is stuck")

const (
	// itemOverhead is about what the host keeps beside a frame's bytes, rowOverhead
	// beside each row: its id. While a sink is away, a trickle of records comes in
	// very many small frames.
	itemOverhead, rowOverhead = 2 << 10, 16
	// frameOverhead is what a frame may have beside the bytes of one record.
	frameOverhead = 64 << 10
	// lookEvery is how often the machines look, pausedEvery how often while the
	// source is paused: a small budget drains quickly, and the sink must not run
	// dry. memoryEvery is how often memory is read.
	lookEvery, pausedEvery, memoryEvery = 250 * time.Millisecond, 20 * time.Millisecond, time.Second
)

// control holds the machines of flow control. Owned by the loop.
type control struct {
	adm      *flow.Admission
	pressure *flow.Pressure
	stuck    *flow.Stuck
	neck     flow.Bottleneck
	// Of memory, the newest reading.
	resident, limit int64
	// least is the least that waited for the sink since the last look, -1: not
	// looked at. What comes and goes between two looks is no queue.
	least, fill int64
	failures    int // of writes, in a row
	// failing is the newest of those failures, failingSince the time of the first.
	failing      error
	failingSince time.Time
	answers      int64
	seenAnswers  int64 // at the last look
	looked       time.Time
	heard        time.Time // when the source last told where streams end
}

func newControl(cfg *Config) control {
	f := &cfg.FlowControl
	f.WarmUp = orDefault(f.WarmUp, DefaultWarmUp)
	f.Pressure = orDefault(f.Pressure, flow.DefaultPressure)
	f.Stuck = orDefault(f.Stuck, flow.DefaultStuck)
	f.Hang = orDefault(f.Hang, flow.DefaultHang)
	return control{
		adm: flow.NewAdmission(flow.AdmissionConfig{
			Budget: cfg.MemoryBudget, Overdraft: int64(max(cfg.Limits.FrameBytes, cfg.Limits.MaxRecordBytes)) + frameOverhead,
			ItemOverhead: itemOverhead, RowOverhead: rowOverhead, RecordSize: f.RecordSize, WarmUp: f.WarmUp,
		}),
		pressure: flow.NewPressure(f.Pressure), stuck: flow.NewStuck(f.Stuck), least: -1,
	}
}

// see notes how many bytes wait for the sink.
func (c *control) see(waiting int64) {
	if c.least < 0 || waiting < c.least {
		c.least = waiting
	}
}

// answered notes what a receipt says of the sink's writes.
func (c *control) answered(outcomes []sdk.Outcome) {
	refused := -1
	for i := range outcomes {
		switch outcomes[i].Kind {
		case sdk.Durable:
			c.writesWork()
			c.answers++
			c.adm.Acked()
			return
		case sdk.Retryable:
			refused = i
		}
	}
	if refused >= 0 {
		c.writeFailed(fmt.Errorf("the sink refuses %s for now: %s", outcomes[refused].Stream, outcomes[refused].Reason))
	}
}

// answered notes a receipt, and says when refusals begin and when they are over.
// What ends a session is said there.
func (p *Pipeline) answered(outcomes []sdk.Outcome) {
	before := p.flow.failures
	p.flow.answered(outcomes)
	switch now := p.flow.failures; {
	case before == 0 && now > 0:
		p.log.Warn("the sink refuses what it was sent; it is sent again until it is taken", "error", p.flow.failing)
	case before > 0 && now == 0:
		p.log.Info("the sink takes writes again", "failed", before)
	}
}

// writeFailed notes why a write has failed, or a session with it.
func (c *control) writeFailed(err error) {
	c.failures++
	c.failing = err
	if c.failingSince.IsZero() {
		c.failingSince = time.Now()
	}
}

// writesWork: one has worked, or there is none that could.
func (c *control) writesWork() { c.failures, c.failing, c.failingSince = 0, nil, time.Time{} }

// expansion is what a byte of a span took of the budget: the frame's own
// overhead, times what the source says about the span.
func (c *control) expansion(b *sdk.Batch, s *sdk.Span) float64 {
	r := float64(c.adm.Charge(b.Bytes(), b.Frame.NumRecords())) / float64(b.Bytes())
	if s.CompressedBytes > 0 && s.ExpandedBytes > s.CompressedBytes {
		r *= float64(s.ExpandedBytes) / float64(s.CompressedBytes)
	}
	return r
}

func (c *control) memory() float64 {
	if c.limit <= 0 {
		return 0
	}
	return float64(c.resident) / float64(c.limit)
}

// charge is what the budget is charged for a batch. Any goroutine.
func (p *Pipeline) charge(b *sdk.Batch) int64 { return p.flow.adm.Charge(b.Bytes(), b.NumRows()) }

// waiting is the bytes that no writer has taken yet: the gating path's channel.
func (p *Pipeline) waiting() int64 {
	if p.out.ses == nil {
		return p.flow.adm.Used()
	}
	return p.out.ses.waiting()
}

// admit charges a batch; false: it came without credit.
func (p *Pipeline) admit(src *source, it *item) bool {
	switch p.flow.adm.Receive(it.batch.Bytes(), it.batch.Frame.NumRecords()) {
	case flow.Uncalled:
		src.fail(protocolErrorOf("source", "a batch came without credit"))
		return false
	case flow.Oversized:
		if it.oversize == nil {
			it.oversize = largest(it.batch.Frame)
		}
	}
	return true
}

// tight: the gating path has no room to spare, so that recovery yields.
func (c *control) tight() bool {
	state := c.pressure.State()
	return c.adm.Used() > c.adm.Budget()/2 || state == flow.Degraded || state == flow.Critical
}

// grant gives the source what the budget allows. While it stops or is paused,
// nothing: it stays in its group, and reads no more.
func (p *Pipeline) grant() {
	if p.src == nil || !p.src.isOpen() || p.stopping != nil || p.flow.pressure.Paused() {
		return
	}
	if n := p.flow.adm.Grantable(); n > 0 {
		p.flow.adm.Granted(time.Now(), n)
		p.src.grant(n)
	}
}
