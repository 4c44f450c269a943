package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

// scanner remembers what the last look has seen. Only scan uses it.
type scanner struct {
	*reader
	places map[string]*place // by name below the root
	look   int
}

// place is a name with a file at it.
type place struct {
	seen seen
	// file is nil as long as the file there has no complete first line.
	file *file
	look int // the last one that saw it
}

// scan looks for files until ctx ends; once, if what is added does not count.
func (r *reader) scan(ctx context.Context) {
	s := &scanner{reader: r, places: map[string]*place{}}
	for {
		began := time.Now()
		if err := s.once(ctx); err != nil {
			r.fail(ctx, err)
			return
		}
		r.table.looked()
		if !r.set.Follow {
			return
		}
		// Looking takes a tenth of the time at most.
		if !r.pause(ctx, max(r.set.PollInterval, 9*time.Since(began))) {
			return
		}
	}
}

// pause waits for the next look; false: ctx ended.
func (r *reader) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.lookAgain:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (s *scanner) once(ctx context.Context) error {
	s.look++
	count := 0
	err := s.root.walk(ctx, func(name string, now seen) error {
		if count++; count > s.set.MaxFiles {
			return sdk.Errorf(sdk.KindFatal, "list files of "+s.set.Path, "more than max_files = %d match; choose a narrower pattern, or raise it", s.set.MaxFiles)
		}
		return s.see(name, now)
	})
	if err != nil {
		return err
	}
	if count == 0 && !s.set.Follow {
		return sdk.Errorf(sdk.KindFatal, "list files of "+s.set.Path, "none matches %q, and with follow = false none is waited for", s.set.Pattern)
	}
	s.forget()
	return nil
}

// see takes one file that was found.
func (s *scanner) see(name string, now seen) error {
	p := s.places[name]
	if p == nil {
		p = &place{}
		s.places[name] = p
	}
	before := p.seen
	p.look, p.seen = s.look, now
	switch {
	case p.file != nil && s.table.isGone(p.file):
		p.file = nil
	case before.sameAs(now):
		return nil
	case p.file != nil && before.inode == now.inode:
		s.table.changedAt(p.file, s.root.join(name), now)
		return nil
	case p.file != nil:
		s.replaced(name, p.file)
		p.file = nil
	}
	return s.identify(name, p)
}

// identify finds out which file lies at a place.
func (s *scanner) identify(name string, p *place) error {
	path := s.root.join(name)
	in, err := content.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	incarnation, err := incarnationOf(in, s.headLines(), !s.set.Follow)
	if err != nil || incarnation == "" {
		return err
	}
	id := s.stream(name, incarnation)
	if f := s.table.of(id); f != nil {
		s.moved(path, p, f)
		return nil
	}
	p.file = &file{stream: id, path: path, seen: p.seen}
	s.table.add(p.file)
	return nil
}

// moved: a file that is known lies at another place now, or is there again.
// One that is at both places (a link) stays where it was.
func (s *scanner) moved(path string, p *place, f *file) {
	if f.path != path && !s.table.isGone(f) {
		if _, err := os.Stat(f.path); err == nil {
			return
		}
	}
	p.file = f
	s.table.changedAt(f, path, p.seen)
}

// forget takes away the places where no file was seen any more.
func (s *scanner) forget() {
	for name, p := range s.places {
		if p.look == s.look {
			continue
		}
		delete(s.places, name)
		if p.file != nil && p.file.path == s.root.join(name) {
			s.replaced(name, p.file)
		}
	}
}

// replaced: a file is no longer at its place.
func (s *scanner) replaced(name string, f *file) {
	s.table.lose(f)
	s.log.Warn("file is no longer there, or was replaced", "file", name)
}

// headLines is how many lines identify a file.
func (r *reader) headLines() int { return 1 }

// stream is a file's stream.
func (r *reader) stream(name, incarnation string) sdk.Stream {
	topic := r.set.Topic
	if topic == "" {
		topic = filepath.ToSlash(name)
	}
	return sdk.Stream{Cluster: r.set.Cluster, Topic: topic, Incarnation: incarnation}
}

// isGone reports whether a file was found to be another one, or not there.
func (t *table) isGone(f *file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.gone
}

// Resolve implements sdk.Reader.
func (r *reader) Resolve(_ context.Context, queries []sdk.Query) ([]sdk.Resolved, error) {
	out := make([]sdk.Resolved, len(queries))
	for i, q := range queries {
		f := r.table.of(q.Stream)
		if f == nil {
			return nil, sdk.Errorf(sdk.KindFenced, "resolve "+q.At.String(), "%s is not assigned", q.Stream)
		}
		out[i] = sdk.Resolved{Stream: q.Stream}
		if q.At == sdk.StartEarliest {
			continue
		}
		if q.At != sdk.StartLatest {
			return nil, sdk.Errorf(sdk.KindFatal, "resolve "+q.At.String(), "the records of files have no time: begin at the earliest or the latest")
		}
		end, err := r.endOf(f.path)
		if err != nil {
			return nil, fmt.Errorf("resolve the end of %s: %w", q.Stream, err)
		}
		out[i].Position = end
	}
	return out, nil
}
