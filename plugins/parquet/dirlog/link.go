package dirlog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
)

// link tries to make t the next commit. false: another writer was first.
func (l *Log) link(t *Temp, f *footer.Footer) (bool, error) {
	if err := l.relyOn(); err != nil { // n only after an fsync that covers n-1
		return false, err
	}
	n := l.st.last + 1
	// With n+1 there, n is taken, or was lost and must not be filled.
	if next, err := l.dir.Exists(FileName(n + 1)); err != nil || next {
		return false, err
	}
	err := l.dir.Link(t.name, FileName(n))
	faultpoint.Hit("link")
	if err != nil {
		if own, rerr := l.isThere(n, f); !own {
			if errors.Is(rerr, fs.ErrNotExist) {
				rerr = err
			}
			return false, rerr
		}
	}
	return true, l.guard(n)
}

// isThere reports whether commit n is f. Whatever link said, the file that is
// there has the last word: a server may have done the work and lost the
// answer.
func (l *Log) isThere(n uint64, f *footer.Footer) (bool, error) {
	there, err := l.read(n)
	return err == nil && there.CommitID == f.CommitID, err
}

// guard makes sure, after n was linked, that no one had used the number
// before and removed it. n is removed only where that is certain: another
// writer may have linked n+1 meanwhile.
func (l *Log) guard(n uint64) error {
	gone, err := l.gone()
	if gone != nil {
		l.dir.Remove(FileName(n))
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
func (l *Log) gone() (gone, err error) {
	if l.st.last > 0 {
		there, err := l.dir.Exists(FileName(l.st.last))
		if err == nil && !there {
			gone = fmt.Errorf("commit %d (%s), which was read, is gone", l.st.last, FileName(l.st.last))
		}
		return gone, err
	}
	newest, err := l.scan(false)
	if err != nil || newest <= 1 {
		return nil, err
	}
	second, err := l.dir.Exists(FileName(2))
	if err == nil && !second {
		gone = fmt.Errorf("commit %d appeared in a log that was empty", newest)
	}
	return gone, err
}
