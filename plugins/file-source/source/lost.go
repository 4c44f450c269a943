package source

import (
	"slices"
	"time"
)

// suspect notes a file whose end may not be its last.
func (t *table) suspect(f *file) {
	t.locked(func() {
		if !f.suspect {
			f.suspect = true
			t.suspects = append(t.suspects, f)
		}
	})
}

// recheck offers the suspects that have not changed for long enough.
func (t *table) recheck(now time.Time, quiet time.Duration) {
	t.locked(func() {
		t.suspects = slices.DeleteFunc(t.suspects, func(f *file) bool {
			if !f.suspect {
				return true // it has changed, and was offered for that
			}
			if now.Sub(f.since) < quiet {
				return false
			}
			f.suspect = false
			t.offer(f)
			return true
		})
	})
}

// strayed notes that a file was not found at its path.
func (t *table) strayed(f *file) { t.locked(func() { f.strayed = true }) }

// isStray reports that.
func (t *table) isStray(f *file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.strayed
}

// isGone reports whether there is nothing to read of a file any more.
func (t *table) isGone(f *file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.gone
}

// elsewhere says that a file has left its name and lies at path; what is new
// there is read once.
func (t *table) elsewhere(f *file, path string, s seen) {
	t.locked(func() {
		grown := f.seen.size != s.size
		f.path, f.seen, f.strayed, f.last = path, s, false, true
		if f.state == resting && !grown {
			delete(t.streams, f.stream)
			return
		}
		t.offer(f)
	})
}

// lose says that a file can not be read any more. Its stream ends with what
// was delivered. It returns how far that was, if it is known.
func (t *table) lose(f *file) (next int64) {
	t.locked(func() {
		f.gone = true
		next = f.next
		if f.state == resting {
			delete(t.streams, f.stream)
			return
		}
		t.offer(f)
	})
	return next
}

// ended says that the host was told that a stream ends.
func (t *table) ended(f *file) { t.locked(func() { f.gone, f.ended = true, true }) }
