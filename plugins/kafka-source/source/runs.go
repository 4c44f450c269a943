package source

import (
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
)

// take hands out the runs that a fetch from a broker may ask for: started,
// led by it, and in no other fetch. They are busy until release. wait is how
// long to wait if there is none: until the earliest retry; zero: until a
// change.
func (t *table) take(led func(*run) bool) (runs []*run, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, r := range t.runs {
		if r.over || r.halted || r.busy || !led(r) {
			continue
		}
		if d := r.retryAt.Sub(now); d > 0 {
			if wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		r.busy = true
		runs = append(runs, r)
	}
	// A broker fills a response in the order that it is asked in: whoever was
	// served longest ago comes first.
	slices.SortFunc(runs, func(a, b *run) int {
		if c := a.retryAt.Compare(b.retryAt); c != 0 {
			return c
		}
		return int(a.id) - int(b.id)
	})
	return runs, wait
}

// progress notes where the next fetch of a busy run begins.
func (t *table) progress(r *run, next int64, epochs history) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.next, r.epochs = next, epochs
	r.retryAt = t.now()
}

// retryLater keeps a busy run from being fetched for a while.
func (t *table) retryLater(r *run, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.retryAt = t.now().Add(d)
}

// stop ends fetching for a run without ending the run: it waits for a new
// Start. False: it is over anyhow.
func (t *table) stop(r *run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.halted = true
	return !r.over
}

// release makes runs available again.
func (t *table) release(runs []*run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range runs {
		r.busy = false
	}
	t.notify()
}

// beginSend reports, for each run, whether it may still be delivered. If all
// may, their delivery has begun and endSend must follow.
func (t *table) beginSend(runs []*run) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range runs {
		if r.over {
			return false
		}
	}
	for _, r := range runs {
		r.sending++
	}
	return true
}

func (t *table) endSend(runs []*run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range runs {
		r.sending--
	}
	t.notify()
}

func (t *table) isOver(r *run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return r.over
}

// topicIDs returns the topic id under which each announced topic is read.
func (t *table) topicIDs() map[string][16]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make(map[string][16]byte)
	for p, s := range t.owned {
		if s.announced {
			ids[p.topic] = s.topicID
		}
	}
	return ids
}

// running lists what is started, for lag.
func (t *table) running() []sdk.Start {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]sdk.Start, 0, len(t.runs))
	for _, r := range t.runs {
		if !r.over {
			list = append(list, sdk.Start{Stream: r.stream, Run: r.id})
		}
	}
	return list
}

// anyRun reports whether f holds for a run that could be fetched.
func (t *table) anyRun(f func(*run) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.runs {
		if !r.over && !r.halted && f(r) {
			return true
		}
	}
	return false
}

// committable is a mark that may be committed now.
type committable struct {
	index       int // in the caller's marks
	mark        sdk.Mark
	incarnation string
	topicID     [16]byte
	parts       int
}

// admit sorts marks: what may be committed, what is refused (in errs), and
// what is committed already (neither). Inside it reads the membership that
// the commit is to carry, so that no commit of an old assignment can go out
// under a newer membership.
func (t *table) admit(marks []sdk.Mark, pending []int, errs []error, membership func()) []committable {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []committable
	for _, i := range pending {
		m := marks[i]
		s := t.find(m.Stream)
		switch {
		case s == nil:
			errs[i] = notAssigned("commit", m.Stream)
		case t.ended.has(m.Run) || s.run != nil && s.run.id != m.Run:
			e := sdk.Errorf(sdk.KindFenced, "commit "+m.Stream.String(), "run %d has ended", m.Run)
			e.Scope = sdk.ScopeRun
			errs[i] = e
		case s.run != nil && m.Next <= s.run.committed:
			// Positions of one run never go back.
		default:
			list = append(list, committable{i, m, s.incarnation(m.Stream), s.topicID, s.parts})
		}
	}
	membership()
	return list
}

// noteCommitted keeps later marks of the run from going back.
func (t *table) noteCommitted(m sdk.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.find(m.Stream); s != nil && s.run != nil && s.run.id == m.Run {
		s.run.committed = max(s.run.committed, m.Next)
	}
}
