package lane

import (
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// maxWritten bounds the spans that a session may have in the sink's hands and
// not on stable storage. A sink that does not answer Flush is sent no more; the
// buffer fills, and sheds.
const maxWritten = 4096

// written is what a session's receipts called written and no Flush has made
// durable yet. None of it is coverage: it is a hole if the session ends, and
// recovery rebuilds it.
type written []writtenSpan

type writtenSpan struct {
	seq    uint64
	stream sdk.Stream
	held   []coverage.Interval
	rows   int64
}

func (w written) full() bool { return len(w) >= maxWritten }

// take removes and returns what a Flush of everything up to seq vouches for.
func (w *written) take(seq uint64) (out written) {
	*w = slices.DeleteFunc(*w, func(s writtenSpan) bool {
		if s.seq <= seq {
			out = append(out, s)
		}
		return s.seq <= seq
	})
	return out
}

func (w written) positions() (n int64) {
	for _, s := range w {
		for _, i := range s.held {
			n += i.Next - i.From
		}
	}
	return n
}

// flushed makes coverage of what ses has written up to seq.
func (l *Lane) flushed(ses *session, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ses.sent == nil {
		return // the session has ended, and what it had written is recovery's
	}
	for _, s := range ses.written.take(seq) {
		st := l.stream(s.stream)
		st.held = append(st.held, s.held...)
	}
	wake(l.wakeRecorder)
	wake(l.wakeWriter)
	wake(l.wakeDrain)
}

// unflushed sheds what the session has written and not flushed: its target may
// lose it. l.mu is held.
func (l *Lane) unflushed(ses *session) {
	seqs := map[uint64]bool{}
	for _, s := range ses.written {
		seqs[s.seq] = true
		l.stat.ShedRows += s.rows
		if l.drain { // nobody records the floor any more
			l.stat.Unanswered += s.rows
		}
	}
	l.stat.Sheds += int64(len(seqs))
	if len(seqs) > 0 {
		l.log.Warn("the session ended before the secondary had flushed what it had written; recovery sends it again", "positions", ses.written.positions())
		wake(l.wakeRecorder)
	}
	ses.written = nil
}
