package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/twg-io/twg/host/flow"
)

// look shows the machines where the pipeline stands, every now and then.
func (p *Pipeline) look() {
	if !flow.Guarded {
		return
	}
	c, now := &p.flow, time.Now()
	every := lookEvery
	if c.pressure.Paused() {
		every = pausedEvery
	}
	if now.Sub(c.looked) < every {
		return
	}
	if p.out.ses != nil && len(p.out.items) == 0 {
		c.writesWork() // what the sink refused is wanted no more: its streams are gone
	}
	c.see(p.waiting())
	c.looked, c.fill, c.least = now, c.least, -1
	budget := float64(c.adm.Budget())
	before := c.pressure.State()
	if c.pressure.Observe(now, flow.Reading{
		Memory: c.memory(), Fill: float64(c.fill) / budget, Held: float64(c.adm.Used()) / budget, Failures: c.failures,
	}) {
		p.log.Info("backpressure changes", "from", before.String(), "to", c.pressure.State().String(),
			"memory", percent(c.memory()), "waiting", percent(float64(c.fill)/budget), "failures", c.failures)
	}
	c.adm.Press(c.pressure.Fraction())
	c.adm.Tick(now)
	p.lookForBottleneck(now)
	p.lookForStuck(now)
}

func percent(r float64) string { return fmt.Sprintf("%.0f %%", r*100) }

func (p *Pipeline) lookForBottleneck(now time.Time) {
	c := &p.flow
	if !c.neck.Observe(now, c.adm.Saturation(), c.memory() < p.cfg.FlowControl.Pressure.MemoryDegraded) {
		return
	}
	if c.neck.Is() {
		p.log.Info("the sink is the bottleneck: the budget is used up, and memory is not the matter",
			"used", c.adm.Used(), "budget", c.adm.Limit(), "memory", percent(c.memory()))
		return
	}
	p.log.Info("the sink is no longer the bottleneck")
}

// lookForStuck escalates: a warning, an error, the end.
func (p *Pipeline) lookForStuck(now time.Time) {
	c, before := &p.flow, p.flow.stuck.Level()
	signs := flow.Signs{Memory: c.memory(), Fill: float64(c.fill) / float64(c.adm.Budget()), Progress: c.answers > c.seenAnswers}
	c.seenAnswers = c.answers
	signs.Work = signs.Memory >= p.cfg.FlowControl.Stuck.Memory && p.hasWork()
	level := c.stuck.Observe(now, signs)
	if level == before || p.stopping != nil {
		return
	}
	why := fmt.Sprintf("memory is at %s, nothing waits for the sink, and nothing has become durable for %s", percent(signs.Memory), c.stuck.Stalled())
	switch level {
	case flow.Moving:
		p.log.Info("not stuck: records have become durable for a while")
	case flow.Suspected:
		p.log.Warn("the pipeline may be stuck: " + why)
	case flow.Unhealthy:
		p.log.Error("the pipeline seems to be stuck: " + why)
	case flow.Hopeless:
		p.halt(fmt.Errorf("%w: %s; if the sink takes longer than that, raise the stuck times of the flow block", ErrStuck, why))
	}
}

// unheard is how long a source may tell nothing about its streams' ends before
// they count for nothing: its server is away, and that is another matter.
const unheard = time.Minute

// hasWork reports whether something should become durable.
func (p *Pipeline) hasWork() bool {
	if len(p.out.items) > 0 {
		return true
	}
	if time.Since(p.flow.heard) > unheard {
		return false
	}
	for _, st := range p.streams {
		if g, ok := p.gate.Run(st.run); ok && g.Frontier < st.end {
			return true
		}
	}
	return false
}

// watchMemory reads memory off the loop, until ctx ends. The loop has taken a
// reading before the next one is made.
func (p *Pipeline) watchMemory(ctx context.Context) {
	if p.cfg.FlowControl.Memory == nil || !flow.Guarded {
		return
	}
	for {
		resident, limit := p.cfg.FlowControl.Memory()
		taken := make(chan struct{})
		p.box.post(func() { p.flow.resident, p.flow.limit = resident, limit; close(taken) })
		select {
		case <-taken:
		case <-ctx.Done():
			return
		}
		if !pause(ctx, memoryEvery) {
			return
		}
	}
}
