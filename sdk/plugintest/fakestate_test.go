package plugintest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeState is all that the fake sink's target holds: one file, replaced by
// each transaction.
type fakeState struct {
	Streams []*fakeStream
	Lanes   []*fakeLane
	Windows []*fakeWindow
	LastID  uint64
}

type fakeStream struct {
	Stream  sdk.Stream
	Rows    []frame.Record
	Held    []coverage.Interval
	Void    []coverage.Void
	Epoch   sdk.Epoch
	Owner   string
	Cursors []sdk.Cursor
	// RawFloor is below what is there: held says what was.
	RawFloor int64
}

func (s *fakeState) of(stream sdk.Stream) *fakeStream {
	for _, x := range s.Streams {
		if x.Stream == stream {
			return x
		}
	}
	x := &fakeStream{Stream: stream}
	s.Streams = append(s.Streams, x)
	return x
}

func (s *fakeStream) set() *coverage.Set {
	out := &coverage.Set{}
	for _, i := range s.Held {
		out.AddHeld(i)
	}
	for _, v := range s.Void {
		out.AddVoid(v)
	}
	return out
}

func (s *fakeStream) issue(owner string) sdk.Acquired {
	a := sdk.Acquired{Stream: s.Stream, Previous: s.Owner, Epoch: sdk.Epoch{Number: s.Epoch.Number + 1}}
	rand.Read(a.Epoch.Token[:])
	s.Epoch, s.Owner = a.Epoch, owner
	return a
}

// cursor is the newest at or below the first hole.
func (s *fakeStream) cursor(newest bool) (best sdk.Cursor, ok bool) {
	hole := s.set().FirstHole()
	for _, c := range s.Cursors {
		if (newest || c.Position <= hole) && (!ok || c.Position > best.Position) {
			best, ok = c, true
		}
	}
	return best, ok
}

func readState(path string) (*fakeState, error) {
	out := &fakeState{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path))
		return out, err
	}
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, out)
}

func (s *fakeState) write(path string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

func (s *fakeState) rows() (out []Row) {
	for _, x := range s.Streams {
		for _, r := range x.Rows {
			out = append(out, Row{Topic: x.Stream.Topic, Partition: x.Stream.Partition, Record: r})
		}
	}
	return out
}

// add puts a batch's rows in; missing rows only, unless repeats.
func (s *fakeState) add(b *sdk.Batch, w wrongs) {
	if w.is("allrows") {
		b = &sdk.Batch{Frame: b.Frame, Spans: b.Spans, Cursors: b.Cursors}
	}
	for _, r := range rowsOf(b) {
		for _, sp := range b.Spans {
			x := s.of(sp.Stream)
			if sp.Stream.Topic != r.Topic || sp.Stream.Partition != r.Partition {
				continue
			}
			here := coverage.Interval{From: r.Position, Next: r.Position + 1}
			if held := x.set(); held.Covers(here) && !w.is("repeats", "allrows") {
				continue
			}
			if w.is("empty") && r.Value == nil {
				r.Value = []byte{}
			}
			x.Rows = append(x.Rows, copyOf(r.Record))
		}
	}
	for _, sp := range b.Spans {
		x := s.of(sp.Stream)
		held := x.set()
		held.AddHeld(coverage.Interval{From: sp.From, Next: sp.Next})
		x.Held = slices.Clone(held.Held())
	}
	for _, c := range b.Cursors {
		s.of(c.Stream).Cursors = append(s.of(c.Stream).Cursors, c)
	}
}
