package dirlog

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Acquire issues a new epoch for each stream: a commit of no rows, durable
// when Acquire returns.
func (l *Log) Acquire(ctx context.Context, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	for _, s := range streams {
		if err := footer.CheckStream(s); err != nil {
			return nil, sdk.Errorf(sdk.KindFatal, "acquire epochs in "+l.Path(), "%w", err)
		}
	}
	if len(streams) == 0 {
		return nil, nil
	}
	var out []sdk.Acquired
	err := l.log.Append(ctx, func() (*Temp, *footer.Footer, error) {
		f := &footer.Footer{Kind: footer.Acquire}
		out = l.nextEpochs(owner, streams, f)
		return l.plain(f)
	})
	faultpoint.Hit("acquire")
	if err != nil {
		return nil, linklog.OpError("acquire epochs in "+l.Path(), err)
	}
	return out, nil
}

func (l *Log) nextEpochs(owner string, streams []sdk.Stream, f *footer.Footer) []sdk.Acquired {
	var out []sdk.Acquired
	for _, s := range streams {
		p := l.st.peek(s)
		e := sdk.Epoch{Number: p.epoch.Number + 1}
		rand.Read(e.Token[:])
		out = append(out, sdk.Acquired{Stream: s, Epoch: e, Previous: p.owner})
		f.Epochs = append(f.Epochs, footer.Epoch{Stream: s, Epoch: e, Owner: owner})
	}
	return out
}

// Coverage reads what the log holds now of each stream, and makes that
// durable before it returns.
func (l *Log) Coverage(ctx context.Context, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	var out []sdk.StreamCoverage
	err := l.log.Current(ctx, func() error {
		for _, s := range streams {
			out = append(out, sdk.StreamCoverage{Stream: s, Set: l.st.peek(s).set.Clone()})
		}
		return nil
	})
	return out, linklog.OpError("read coverage of "+l.Path(), err)
}

// Cursors returns, for each stream that has one, the newest cursor at or
// below its contiguous frontier.
func (l *Log) Cursors(ctx context.Context, streams []sdk.Stream) ([]sdk.Cursor, error) {
	var out []sdk.Cursor
	err := l.log.Current(ctx, func() error {
		for _, s := range streams {
			p := l.st.peek(s)
			hole := p.set.FirstHole()
			for i := len(p.cursors) - 1; i >= 0; i-- {
				if p.cursors[i].Position <= hole {
					out = append(out, p.cursors[i])
					break
				}
			}
		}
		return nil
	})
	return out, linklog.OpError("read cursors of "+l.Path(), err)
}

// Record adds coverage without rows under the streams' epochs, all or none.
// A void takes only what is neither held nor void yet.
func (l *Log) Record(ctx context.Context, records []sdk.CoverageRecord) error {
	err := l.log.Renew(ctx, func() (*Temp, *footer.Footer, error) {
		f, err := l.recordFooter(records)
		if err == nil && len(f.Spans)+len(f.Voids) == 0 {
			err = linklog.ErrNothing
		}
		if err != nil {
			return nil, nil, err
		}
		return l.plain(f)
	})
	return linklog.OpError("record coverage in "+l.Path(), err)
}

func (l *Log) recordFooter(records []sdk.CoverageRecord) (*footer.Footer, error) {
	f := &footer.Footer{Kind: footer.Record}
	for _, r := range records {
		if reason := l.fence(Claim{r.Stream, r.Epoch}); reason != "" {
			return nil, sdk.Errorf(sdk.KindFenced, "", "%s", reason)
		}
		if !r.Epoch.IsZero() {
			f.Epochs = append(f.Epochs, footer.Epoch{Stream: r.Stream, Epoch: r.Epoch})
		}
		set, floor := l.st.peek(r.Stream).set.Clone(), l.st.peek(r.Stream).rawFloor()
		for _, h := range r.Held {
			h.From = max(h.From, floor)
			for _, i := range set.Missing(h) {
				f.Spans = append(f.Spans, footer.Span{Stream: r.Stream, Interval: i})
				set.AddHeld(i)
			}
		}
		for _, v := range r.Void {
			for _, i := range set.Holes(v.Interval) {
				v := coverage.Void{Interval: i, Reason: v.Reason}
				f.Voids = append(f.Voids, footer.Void{Stream: r.Stream, Void: v})
				set.AddVoid(v)
			}
		}
	}
	return f, nil
}

// fence says why a claim does not hold; empty: it does.
func (l *Log) fence(c Claim) string {
	p := l.st.peek(c.Stream)
	switch {
	case p.epoch == c.Epoch:
		return ""
	case c.Epoch.IsZero():
		return fmt.Sprintf("%s was acquired by %q (epoch %d) and the write has no epoch", c.Stream, p.owner, p.epoch.Number)
	case p.epoch.IsZero():
		return fmt.Sprintf("the write has epoch %d of %s, which this directory never issued", c.Epoch.Number, c.Stream)
	}
	return fmt.Sprintf("%s was acquired by %q (epoch %d); the write has epoch %d", c.Stream, p.owner, p.epoch.Number, c.Epoch.Number)
}

// Check says whether epochs that are given are the current ones.
func (l *Log) Check(ctx context.Context, claims []Claim) error {
	err := l.log.Current(ctx, func() error {
		for _, c := range claims {
			if reason := l.fence(c); reason != "" {
				return sdk.Errorf(sdk.KindFenced, "", "%s", reason)
			}
		}
		return nil
	})
	return linklog.OpError("check epochs in "+l.Path(), err)
}

// Streams returns every stream that the log has an epoch or coverage of.
func (l *Log) Streams(ctx context.Context) ([]sdk.Stream, error) {
	var out []sdk.Stream
	err := l.log.Current(ctx, func() error {
		out = sortedStreams(l.st.streams)
		return nil
	})
	return out, linklog.OpError("list streams of "+l.Path(), err)
}

// RawFloors returns, for each stream, the position below which it was pruned.
func (l *Log) RawFloors(ctx context.Context, streams []sdk.Stream) ([]int64, error) {
	var out []int64
	err := l.log.Current(ctx, func() error {
		for _, s := range streams {
			out = append(out, l.st.peek(s).rawFloor())
		}
		return nil
	})
	return out, linklog.OpError("read raw floors of "+l.Path(), err)
}

// rawFloor is where the last pruned void ends.
func (p *stream) rawFloor() (floor int64) {
	for _, v := range p.set.Voids() {
		if v.Reason == coverage.Pruned {
			floor = v.Next
		}
	}
	return floor
}
