package dirlog

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Claim is that a write may be made: the epoch is its stream's current one.
type Claim struct {
	Stream sdk.Stream
	Epoch  sdk.Epoch
}

// Rollback is why a commit was not made. Nothing of it is there.
type Rollback struct {
	// Fenced are the claims that do not hold, with the reason.
	Fenced map[Claim]string
	// Overlap: part of the spans is held by another commit by now, or pruned.
	Overlap bool
}

// Missing returns the parts of i that the log does not hold yet, and that lie
// above the raw floor, as far as its commits have been read. Both only grow, so
// that what is not missing stays so; what is missing may be committed by
// another writer meanwhile, which Commit finds out.
func (l *Log) Missing(s sdk.Stream, i coverage.Interval) []coverage.Interval {
	if !useCoverage {
		return []coverage.Interval{i}
	}
	l.state.RLock()
	defer l.state.RUnlock()
	return l.st.peek(s).missing(i)
}

// missing leaves out what lies below the raw floor: what was pruned would come
// back.
func (p *stream) missing(i coverage.Interval) []coverage.Interval {
	i.From = max(i.From, p.rawFloor())
	return p.set.Missing(i)
}

// covered is the coverage of one stream as far as commits have been read.
func (l *Log) covered(s sdk.Stream) *coverage.Set {
	l.state.RLock()
	defer l.state.RUnlock()
	return l.st.peek(s).set.Clone()
}

// UsefulCursors leaves out the cursors of one stream that will not be needed
// once spans are committed too.
func (l *Log) UsefulCursors(s sdk.Stream, cs []sdk.Cursor, spans []coverage.Interval) []sdk.Cursor {
	set := l.covered(s)
	for _, i := range spans {
		set.AddHeld(i)
	}
	return UsefulCursors(cs, set)
}

// NewCommitID returns a random commit_id.
func NewCommitID() (id [16]byte) {
	rand.Read(id[:])
	return id
}

// errRefused ends a commit whose refusal the caller has noted.
var errRefused = errors.New("refused")

// Commit appends the data file t, which is complete and fsynced, if all
// claims hold and no part of its spans is held by another commit, or pruned. It is durable when
// Commit returns nil, nil. The caller discards t in every case.
func (l *Log) Commit(ctx context.Context, t *Temp, f *footer.Footer, claims []Claim) (*Rollback, error) {
	var rb *Rollback
	t.Kept = true
	err := l.log.Append(ctx, func() (*Temp, *footer.Footer, error) {
		if rb = l.refusal(f, claims); rb != nil {
			return nil, nil, errRefused
		}
		return t, f, nil
	})
	if rb != nil {
		return rb, nil
	}
	return nil, linklog.OpError("commit to "+l.Path(), err)
}

// Settle says that spans which the log held already may be answered as
// durable: the claims hold, and what was read is durable.
func (l *Log) Settle(ctx context.Context, claims []Claim) (*Rollback, error) {
	var rb *Rollback
	err := l.log.Settle(ctx, func() error {
		if rb = l.refusal(&footer.Footer{}, claims); rb != nil {
			return errRefused
		}
		return nil
	})
	if rb != nil {
		return rb, nil
	}
	return nil, linklog.OpError("sync "+l.Path(), err)
}

// refusal checks a data commit against the state.
func (l *Log) refusal(f *footer.Footer, claims []Claim) *Rollback {
	rb := &Rollback{Fenced: map[Claim]string{}}
	for _, c := range claims {
		if reason := l.fence(c); reason != "" {
			rb.Fenced[c] = reason
		}
	}
	for _, s := range f.Spans {
		if m := l.st.peek(s.Stream).missing(s.Interval); useCoverage && (len(m) != 1 || m[0] != s.Interval) {
			rb.Overlap = true
		}
	}
	if rb.Overlap || len(rb.Fenced) > 0 {
		return rb
	}
	return nil
}
