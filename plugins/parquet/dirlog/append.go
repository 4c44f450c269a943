package dirlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
)

// CheckpointEvery is how many commits may follow a checkpoint before the next
// commit has to be one.
const CheckpointEvery = 128

// build makes a commit from the current state: its file, complete and
// fsynced, and what the file's footer says. It is called again when another
// writer was first.
type build func() (*Temp, *footer.Footer, error)

// append commits what b builds. commit is held.
func (l *Log) append(ctx context.Context, b build) error {
	for {
		if err := l.usable(ctx); err != nil {
			return err
		}
		if l.st.last-l.st.checkpoint >= l.every {
			if err := l.appendOnce(ctx, l.buildCheckpoint); err != nil && !errors.Is(err, errRace) {
				return fmt.Errorf("write checkpoint: %w", err)
			}
			continue
		}
		if err := l.appendOnce(ctx, b); !errors.Is(err, errRace) {
			return err
		}
	}
}

// errRace: another writer was first; its commits have been read.
var errRace = errors.New("another writer committed first")

func (l *Log) appendOnce(ctx context.Context, b build) error {
	t, f, err := b()
	if err != nil {
		return err
	}
	if f.Kind != footer.Data {
		defer t.Discard() // a data file is its caller's
	}
	linked, err := l.link(t, f)
	if err != nil {
		return err
	}
	if !linked {
		if err := l.refresh(ctx); err != nil {
			return err
		}
		return errRace
	}
	if err := l.apply(l.st.last+1, f); err != nil {
		return l.breakWith(err)
	}
	t.unname()
	return l.syncDir()
}

func (l *Log) buildCheckpoint() (*Temp, *footer.Footer, error) { return l.empty(l.st.whole()) }

// empty writes a commit of no rows.
func (l *Log) empty(f *footer.Footer) (*Temp, *footer.Footer, error) {
	rand.Read(f.CommitID[:])
	t, err := l.Temp()
	if err != nil {
		return nil, nil, err
	}
	err = rawfile.Empty(t, f)
	if err == nil {
		err = t.Sync()
	}
	if err != nil {
		t.Discard()
		return nil, nil, err
	}
	return t, f, nil
}
