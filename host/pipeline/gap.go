package pipeline

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/sdk"
)

// gap takes the source's word that a position cannot be read.
func (p *Pipeline) gap(g sdk.Gap) {
	st := p.byRun[g.Run]
	if st == nil {
		return
	}
	cut := g.Cause == sdk.GapDiverged || g.Available < g.Wanted
	switch {
	case cut && p.cfg.OnDivergence == DivergenceNewIncarnation && p.cfg.SourceCaps.Renames:
		st.cutAs = offsetstore.Successor(st.key)
	case cut:
		p.halt(fmt.Errorf("stream %s cannot be read at position %d: %s; its log now differs from position %d on. "+
			`To read what stands there now as another stream, set on_divergence = "new_incarnation" in the pipeline`,
			g.Stream, g.Wanted, g.Reason, g.Available))
		return
	case p.cfg.OnGap == GapFail:
		p.halt(fmt.Errorf("stream %s cannot be read at position %d: %s; the next available position is %d. "+
			`Records between them may be lost. To go on without them, set on_gap = "continue" in the pipeline`,
			g.Stream, g.Wanted, g.Reason, g.Available))
		return
	}
	if st.gap == nil {
		p.gapped = append(p.gapped, st)
	}
	st.gap = &g
}

// resumeAfterGaps starts streams with a gap again, once what is in flight of
// them is settled.
func (p *Pipeline) resumeAfterGaps() {
	p.gapped = slices.DeleteFunc(p.gapped, func(st *stream) bool {
		if st.gap == nil || !p.live(st) || p.stopping != nil {
			return true
		}
		s, ok := p.gate.Run(st.run)
		if !ok || s.Frontier != s.Tail || p.src == nil {
			return !ok
		}
		p.startAgain(st, false)
		return true
	})
}
