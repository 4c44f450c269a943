package linklog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
)

// link tries to make t, which is c, the next commit. false: another writer
// was first.
func (l *Log[C]) link(t *Temp, c C) (bool, error) {
	if err := l.relyOn(); err != nil { // n only after an fsync that covers n-1
		return false, err
	}
	n := l.last + 1
	// With n+1 there, n is taken, or was lost and must not be filled.
	if next, err := l.dir.Exists(l.name(n + 1)); err != nil || next {
		return false, err
	}
	err := l.dir.Link(t.name, l.name(n))
	faultpoint.Hit("link")
	if err != nil {
		if own, rerr := l.isThere(n, c); !own {
			if errors.Is(rerr, fs.ErrNotExist) {
				rerr = err
			}
			return false, rerr
		}
	}
	return true, l.guard(n)
}

// isThere reports whether commit n is c. Whatever link said, the file that is
// there has the last word: a server may have done the work and lost the
// answer.
func (l *Log[C]) isThere(n uint64, c C) (bool, error) {
	there, err := l.read(n)
	return err == nil && l.codec.ID(there) == l.codec.ID(c), err
}

// guard makes sure, after n was linked, that no one had used the number
// before and removed it. n is removed only where that is certain: another
// writer may have linked n+1 meanwhile.
func (l *Log[C]) guard(n uint64) error {
	gone, err := l.gone()
	if gone != nil {
		l.dir.Remove(l.name(n))
		err = gone
	}
	if err != nil {
		return l.breakWith(err)
	}
	return nil
}

// gone says why the newest commit that was read is there no longer, if so:
// older ones are removed first, so with it all after it were there. err: it is
// not known.
func (l *Log[C]) gone() (gone, err error) {
	if l.last > 0 {
		there, err := l.dir.Exists(l.name(l.last))
		if err == nil && !there {
			gone = moved{fmt.Errorf("commit %d (%s), which was read, is gone", l.last, l.name(l.last))}
		}
		return gone, err
	}
	newest, err := l.scan(false)
	if err != nil || newest <= 1 {
		return nil, err
	}
	second, err := l.dir.Exists(l.name(2))
	if err == nil && !second {
		gone = moved{fmt.Errorf("commit %d appeared in a log that was empty", newest)}
	}
	return gone, err
}
