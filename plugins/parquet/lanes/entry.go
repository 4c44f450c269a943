package lanes

import (
	"crypto/rand"
	"math/big"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// entry is one commit: what it adds to the state, or, as a checkpoint, all of
// it.
type entry struct {
	id         [16]byte
	checkpoint bool
	nextID     uint64 // every window has a lower id
	parts      []partEntry
	windows    []sdk.RecoveryWindow // new or changed, each as a whole
	gone       []uint64             // windows that are over
}

// partEntry adds to one lane's part in one stream.
type partEntry struct {
	key
	held, aside []coverage.Interval
	void        []coverage.Void
	floor       int64
}

func (p *partEntry) empty() bool { return len(p.held)+len(p.aside)+len(p.void) == 0 && p.floor == 0 }

func newEntry(nextID uint64) *entry {
	e := &entry{nextID: nextID}
	rand.Read(e.id[:])
	return e
}

func (e *entry) empty() bool { return len(e.parts)+len(e.windows)+len(e.gone) == 0 }

// firstID is where a new log begins to number windows. It is random, so that
// an id that somebody remembers from a log that was removed is none of this
// one's.
func firstID() uint64 {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<32))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return n.Uint64()<<20 + 1
}
