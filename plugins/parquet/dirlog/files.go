package dirlog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Piece is a held interval, and the commit that holds it, with rows or
// without.
type Piece struct {
	Commit uint64
	coverage.Interval
}

// files knows which commit holds what, of commits that a checkpoint stands for
// as well. Their footers are read when they are first asked for.
type files struct {
	mu      sync.Mutex
	listed  bool
	last    uint64 // commits up to here were read
	commits map[uint64]commitInfo
	pieces  map[sdk.Stream][]Piece
	sound   map[uint64]bool // commits whose pages were held against their checksum
}

func newFiles() *files {
	return &files{commits: map[uint64]commitInfo{}, pieces: map[sdk.Stream][]Piece{}, sound: map[uint64]bool{}}
}

// commitInfo is what a commit holds. A checkpoint holds nothing of its own.
type commitInfo struct {
	rows  int64
	spans []footer.Span
}

// Pieces returns what of an interval is held in files, ascending, and makes it
// durable. What is held without a file that is there (somebody removed it) is
// left out.
func (l *Log) Pieces(ctx context.Context, s sdk.Stream, in coverage.Interval) ([]Piece, error) {
	var out []Piece
	err := l.log.Current(ctx, func() error {
		if err := l.files.refresh(ctx, l.log); err != nil {
			return err
		}
		out = l.files.within(s, l.st.peek(s).set.HeldWithin(in))
		return nil
	})
	return out, linklog.OpError("look for files in "+l.Path(), err)
}

// refresh reads the footers that were not read yet. The log is locked.
func (f *files) refresh(ctx context.Context, log *linklog.Log[*footer.Footer]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ns, err := log.Numbers(!f.listed, f.last)
	if err != nil {
		return err
	}
	for _, n := range ns {
		if err := ctx.Err(); err != nil {
			return err
		}
		foot, err := log.ReadCommit(n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			f.add(n, foot)
		}
		f.last = n
	}
	f.listed = true
	return nil
}

func (f *files) add(n uint64, foot *footer.Footer) {
	if foot.Kind != footer.Data && foot.Kind != footer.Record {
		f.commits[n] = commitInfo{}
		return // a checkpoint repeats what others hold
	}
	f.commits[n] = commitInfo{foot.Rows, foot.Spans}
	for _, s := range foot.Spans {
		f.pieces[s.Stream] = append(f.pieces[s.Stream], Piece{n, s.Interval})
	}
}

// numbers are the commits that were there, ascending.
func (f *files) numbers() []uint64 { return slices.Sorted(maps.Keys(f.commits)) }

// forget drops commits that were removed.
func (f *files) forget(below uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.sound, func(n uint64, _ bool) bool { return n < below })
	maps.DeleteFunc(f.commits, func(n uint64, _ commitInfo) bool { return n < below })
	for s, ps := range f.pieces {
		f.pieces[s] = slices.DeleteFunc(ps, func(p Piece) bool { return p.Commit < below })
	}
}

// within cuts the pieces of a stream to what is held. Where two have a
// position (one was pruned and delivered again), the newer one counts.
func (f *files) within(s sdk.Stream, held []coverage.Interval) (out []Piece) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.pieces[s]
	for _, h := range held {
		var taken coverage.Set
		for k := len(all) - 1; k >= 0; k-- {
			cut := coverage.Interval{From: max(all[k].From, h.From), Next: min(all[k].Next, h.Next)}
			for _, i := range taken.Missing(cut) {
				out = append(out, Piece{all[k].Commit, i})
			}
			taken.AddHeld(cut)
		}
	}
	slices.SortFunc(out, func(a, b Piece) int { return cmp.Compare(a.From, b.From) })
	return out
}

// File opens a commit's file. When a process opens it first it is read through
// and held against its checksum: what is damaged must not get to a decoder, to
// which a page of 2 GiB is a page. fs.ErrNotExist: it was removed.
func (l *Log) File(n uint64) (disk.Reader, error) {
	r, err := l.log.OpenCommit(n)
	if err == nil && !l.files.isSound(n) {
		if err = footer.CheckBody(r, r.Size()); err != nil {
			r.Close()
			err = l.Damaged(n, err)
		} else {
			l.files.setSound(n)
		}
	}
	if err != nil {
		return nil, linklog.OpError("open commit in "+l.Path(), err)
	}
	return r, nil
}

func (f *files) isSound(n uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sound[n]
}

func (f *files) setSound(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sound[n] = true
}

// Damaged says which commit an error of its content is about, and what can be
// done about it.
func (l *Log) Damaged(n uint64, err error) error { return l.log.Damaged(n, err) }
