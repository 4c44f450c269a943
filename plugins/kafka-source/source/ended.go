package source

// endedRuns remembers the last runs that are over, of any stream: no mark of
// theirs is committed, also when their partition has come back since.
type endedRuns struct {
	ids  map[uint64]bool
	ring []uint64
	next int
}

const maxEnded = 4096

func (e *endedRuns) has(id uint64) bool { return e.ids[id] }

func (e *endedRuns) add(id uint64) {
	if e.ids == nil {
		e.ids = make(map[uint64]bool)
	}
	if len(e.ring) < maxEnded {
		e.ring = append(e.ring, id)
	} else {
		delete(e.ids, e.ring[e.next])
		e.ring[e.next] = id
		e.next = (e.next + 1) % maxEnded
	}
	e.ids[id] = true
}
