package sink

import (
	"slices"
	"time"

	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// file is a file that is not committed yet, and the batches that wait for it.
// A batch whose rows are all held already waits for it too: files are
// committed in order, so then everything before it is durable.
type file struct {
	due     time.Time       // when it is sealed, if nothing happens before
	old     time.Time       // when it is sealed at the latest
	temp    *dirlog.Temp    // nil: no row yet
	raw     *rawfile.Writer // nil: no row yet
	batches []batch
	// held are the positions that this file adds to its streams.
	held    map[sdk.Stream]*coverage.Set
	claims  map[dirlog.Claim]bool
	cursors map[sdk.Stream][]sdk.Cursor
}

// batch is what is needed to answer a batch.
type batch struct {
	seq   uint64
	spans []sdk.Span
}

func newFile() *file {
	return &file{
		held:    map[sdk.Stream]*coverage.Set{},
		claims:  map[dirlog.Claim]bool{},
		cursors: map[sdk.Stream][]sdk.Cursor{},
	}
}

// add notes a batch. missing has, for each span, the parts that are new.
func (f *file) add(b *sdk.Batch, missing [][]coverage.Interval) {
	f.batches = append(f.batches, batch{b.Seq, slices.Clone(b.Spans)})
	for i, s := range b.Spans {
		f.claims[dirlog.Claim{Stream: s.Stream, Epoch: s.Epoch}] = true
		for _, m := range missing[i] {
			set := f.held[s.Stream]
			if set == nil {
				set = &coverage.Set{}
				f.held[s.Stream] = set
			}
			set.AddHeld(m)
		}
	}
	for _, c := range b.Cursors {
		f.cursors[c.Stream] = append(f.cursors[c.Stream], c)
	}
}

// subtract returns the parts of is that f does not add.
func (f *file) subtract(s sdk.Stream, is []coverage.Interval) []coverage.Interval {
	set := f.held[s]
	if set == nil {
		return is
	}
	return outside(is, set)
}

// footer is the commit that f is to become.
func (f *file) footer(log *dirlog.Log) *footer.Footer {
	out := &footer.Footer{CommitID: dirlog.NewCommitID(), Kind: footer.Data}
	for s, set := range f.held {
		for _, i := range set.Held() {
			out.Spans = append(out.Spans, footer.Span{Stream: s, Interval: i})
		}
	}
	for c := range f.claims {
		if !c.Epoch.IsZero() {
			out.Epochs = append(out.Epochs, footer.Epoch{Stream: c.Stream, Epoch: c.Epoch})
		}
	}
	for s, cs := range f.cursors {
		var spans []coverage.Interval
		if set := f.held[s]; set != nil {
			spans = set.Held()
		}
		out.Cursors = append(out.Cursors, log.UsefulCursors(s, cs, spans)...)
	}
	return out
}

func (f *file) claimList() []dirlog.Claim {
	out := make([]dirlog.Claim, 0, len(f.claims))
	for c := range f.claims {
		out = append(out, c)
	}
	return out
}

// discard gives up what is not committed.
func (f *file) discard() {
	if f.temp != nil {
		f.temp.Discard() // a leftover is hidden, and the next Open removes it
		f.temp = nil
	}
}
