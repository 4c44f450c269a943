package source

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// scanner remembers what the last look has seen. One goroutine uses it.
type scanner struct {
	*reader
	layout *layout
	places map[string]*place // by name below the root
	look   int
	// inodes are the files of the directories that something has left, by
	// directory; of one look.
	inodes map[string]map[uint64]string
}

// place is a name with a file at it.
type place struct {
	seen  seen
	since time.Time // when it was first seen so
	// file is nil as long as it is not known which file lies there; tries counts
	// how often it was tried to find out, since it has changed.
	file  *file
	tries int
	look  int // the last one that saw it
}

// scan looks for files until ctx ends; once, if what is added does not count.
func (r *reader) scan(ctx context.Context) {
	s := &scanner{reader: r, layout: newLayout(r.set), places: map[string]*place{}}
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
		if !r.pause(ctx, pauseAfter(time.Since(began), r.set.PollInterval)) {
			return
		}
	}
}

// pauseAfter: looking takes a tenth of the time at most, unless it is so slow
// that new files would wait for too long.
func pauseAfter(took, poll time.Duration) time.Duration {
	return max(poll, min(9*took, 20*poll))
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

// once takes one look.
func (s *scanner) once(ctx context.Context) error {
	s.look++
	s.inodes = map[string]map[uint64]string{}
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
	s.table.recheck(time.Now(), s.set.QuietAfter)
	return nil
}

// see takes one file that was found.
func (s *scanner) see(name string, now seen) error {
	p := s.places[name]
	if p == nil {
		p = &place{}
		s.places[name] = p
	}
	p.look = s.look
	same := p.seen.sameAs(now)
	if !same {
		p.since, p.tries = time.Now(), 0
	}
	sameFile := p.seen.inode == now.inode
	p.seen = now
	switch {
	case p.file == nil && (p.tries == 0 || p.tries < maxTries && s.quiet(p.since)):
		return s.identify(name, p)
	case p.file == nil:
	case !sameFile || s.table.isStray(p.file):
		s.left(name, p.file)
		p.file = nil
		return s.identify(name, p)
	case !same:
		s.table.changedAt(p.file, s.root.join(name), now)
	}
	return nil
}

// forget takes away the places where no file was seen any more.
func (s *scanner) forget() {
	for name, p := range s.places {
		if p.look == s.look {
			continue
		}
		delete(s.places, name)
		if p.file != nil {
			s.left(name, p.file)
		}
	}
}
