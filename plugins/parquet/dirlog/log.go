package dirlog

import (
	"context"
	"io"
	"sync"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
)

// Log is a directory that is a log. Methods may be called from any goroutine.
type Log struct {
	log *linklog.Log[*footer.Footer]
	*known
	files *files
}

// known is what the commits that were read add up to. state is held only for
// moments; it is taken inside the log's lock.
type known struct {
	state sync.RWMutex
	st    *state
}

// Temp is a file that is to become a commit. One goroutine at a time.
type Temp = linklog.Temp

// ErrMoved: see linklog.ErrMoved.
var ErrMoved = linklog.ErrMoved

const suffix = ".parquet"

// FileName is commit n's name.
func FileName(n uint64) string { return linklog.Name(n, suffix) }

// Open reads the log in dir, removes what dead writers left, and makes what
// it has read durable. It takes dir over; Close closes it.
func Open(ctx context.Context, dir disk.Dir) (*Log, error) {
	k := &known{st: newState()}
	l, err := linklog.Open(ctx, dir, codec{k})
	if err != nil {
		return nil, err
	}
	return &Log{log: l, known: k, files: newFiles()}, nil
}

// Path is the directory's name, for people.
func (l *Log) Path() string { return l.log.Path() }

// Close releases the directory. No call may be running.
func (l *Log) Close() error { return l.log.Close() }

// Broken returns why this Log can no longer be used; nil: it can.
func (l *Log) Broken() error { return l.log.Broken() }

// Temp creates a file that no reader sees.
func (l *Log) Temp() (*Temp, error) { return l.log.Temp() }

// codec is linklog's view of the footers.
type codec struct{ *known }

func (codec) Suffix() string                            { return suffix }
func (codec) ID(f *footer.Footer) [16]byte              { return f.CommitID }
func (codec) IsCheckpoint(f *footer.Footer) bool        { return f.Kind == footer.Checkpoint }
func (codec) Write(w io.Writer, f *footer.Footer) error { return rawfile.Empty(w, f) }

func (codec) Read(r io.ReaderAt, size int64) (*footer.Footer, error) { return footer.Read(r, size) }

func (codec) Repair() string {
	return "or move this commit and all later ones out of the directory: what they hold is then read from the source again, where the source still has it. If the directory is a secondary's, give that sink another name in the file as well: under the old one it counts as having them"
}

func (c codec) Reset() {
	c.state.Lock()
	defer c.state.Unlock()
	c.st = newState()
}

func (c codec) Apply(f *footer.Footer) error {
	c.state.Lock()
	defer c.state.Unlock()
	return c.st.apply(f)
}

func (c codec) Whole() *footer.Footer { return c.st.whole() }

// plain builds a commit of no rows.
func (l *Log) plain(f *footer.Footer) (*Temp, *footer.Footer, error) {
	f.CommitID = NewCommitID()
	return l.log.Plain(f)
}
