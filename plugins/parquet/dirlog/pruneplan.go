package dirlog

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
)

// pruner decides what a Prune removes.
type pruner struct {
	log   *Log
	asked map[sdk.Stream]sdk.Prune
	stats map[uint64]map[sdk.Stream]rawfile.Stats // of files that were looked into

	below  uint64               // commits below it are removed
	floors map[sdk.Stream]int64 // of every stream, after it
	rows   map[sdk.Stream]int64 // removed
	rises  bool                 // a floor rises
}

// plan decides: the longest beginning of the log whose files hold nothing that
// is to stay, and that ends where, in each stream, everything in it lies below
// everything behind it. The log is locked.
func (p *pruner) plan(ctx context.Context) error {
	if err := p.log.files.refresh(ctx, p.log.log); err != nil {
		return err
	}
	old, err := p.beginning(ctx)
	if err != nil {
		return err
	}
	old = p.cut(old)
	p.floors, p.rows, p.rises, p.below = map[sdk.Stream]int64{}, map[sdk.Stream]int64{}, false, 0
	for s, st := range p.log.st.streams {
		p.floors[s] = st.rawFloor()
	}
	for _, n := range old {
		p.below = n + 1
		for _, s := range p.log.files.commits[n].spans {
			if s.Next > p.floors[s.Stream] {
				p.floors[s.Stream], p.rises = s.Next, true
			}
		}
	}
	if !p.rises {
		old = p.leftovers(old)
	}
	return p.count(old)
}

// leftovers: without a new checkpoint only what the newest one stands for can
// be removed: files that a Prune which died has left.
func (p *pruner) leftovers(old []uint64) []uint64 {
	checkpoint := p.log.log.Checkpoint()
	at, _ := slices.BinarySearch(old, checkpoint)
	p.below = min(p.below, checkpoint)
	return old[:at]
}

// beginning lists the oldest commits of which nothing is to stay.
func (p *pruner) beginning(ctx context.Context) (old []uint64, err error) {
	for _, n := range p.log.files.numbers() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		goes, err := p.goes(n)
		if err != nil || !goes {
			return old, err
		}
		old = append(old, n)
	}
	return old, nil
}

// goes reports whether nothing of commit n is to stay.
func (p *pruner) goes(n uint64) (bool, error) {
	for _, s := range p.log.files.commits[n].spans {
		st := p.log.st.peek(s.Stream)
		a, asked := p.asked[s.Stream]
		if s.Next <= st.rawFloor() {
			continue // a Prune that died has left it
		}
		// What lies behind a hole is not the stream's beginning.
		if !asked || s.Next > min(a.Below, st.set.FirstHole()) {
			return false, nil
		}
		if a.OlderThan.IsZero() {
			continue
		}
		older, err := p.older(n, s.Stream, a.OlderThan)
		if err != nil || !older {
			return false, err
		}
	}
	return true, nil
}

// older reports whether all rows of a stream in commit n have a timestamp, and
// one before t.
func (p *pruner) older(n uint64, s sdk.Stream, t time.Time) (bool, error) {
	stats, err := p.look(n)
	if err != nil {
		return false, err
	}
	st := stats[s]
	return st.Rows == 0 || st.OldestMS > 0 && st.NewestMS < t.UnixMilli(), nil
}

// look reads what the rows of commit n are: mostly from its footer, so the rest
// of it is not held against its checksum.
func (p *pruner) look(n uint64) (map[sdk.Stream]rawfile.Stats, error) {
	if stats, ok := p.stats[n]; ok {
		return stats, nil
	}
	if p.log.files.commits[n].rows == 0 {
		return nil, nil
	}
	r, err := p.log.log.OpenCommit(n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	file, err := rawfile.OpenFile(r, r.Size())
	if err == nil {
		p.stats[n], err = file.Stats()
	}
	if err != nil {
		return nil, p.log.Damaged(n, err)
	}
	return p.stats[n], nil
}

// cut shortens a beginning of the log until, in each stream, everything in it
// lies below everything behind it: what had to be sent again may be in a later
// file, and a floor is one position.
func (p *pruner) cut(old []uint64) []uint64 {
	for {
		at := p.crossing(old)
		if at < 0 {
			return old
		}
		old = old[:at]
	}
}

// crossing is the place in old of the newest commit that holds something above
// what a commit behind old holds; -1: there is none.
func (p *pruner) crossing(old []uint64) int {
	lowest := map[sdk.Stream]int64{}
	for _, n := range p.log.files.numbers()[len(old):] {
		for _, s := range p.log.files.commits[n].spans {
			if low, ok := lowest[s.Stream]; !ok || s.From < low {
				lowest[s.Stream] = s.From
			}
		}
	}
	for at := len(old) - 1; at >= 0; at-- {
		for _, s := range p.log.files.commits[old[at]].spans {
			if low, ok := lowest[s.Stream]; ok && s.Next > low {
				return at
			}
		}
	}
	return -1
}

// count counts the rows of the commits.
func (p *pruner) count(old []uint64) error {
	for _, n := range old {
		stats, err := p.look(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another Prune was first
		}
		if err != nil {
			return err
		}
		for s, st := range stats {
			p.rows[s] += st.Rows
		}
	}
	return nil
}
