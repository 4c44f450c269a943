package recordbatch

import (
	"encoding/binary"
	"slices"
)

// Aborted tells which batches of a Fetch response belong to transactions that
// were aborted. Batches are shown to it in order.
type Aborted struct {
	// first holds, for each producer, the first offsets of its aborted
	// transactions that have not ended yet, ascending.
	first map[int64][]int64
}

// Add notes an aborted transaction of the response. Brokers list them in any
// order.
func (a *Aborted) Add(producerID, firstOffset int64) {
	if a.first == nil {
		a.first = make(map[int64][]int64)
	}
	list := a.first[producerID]
	i, _ := slices.BinarySearch(list, firstOffset)
	a.first[producerID] = slices.Insert(list, i, firstOffset)
}

// Reset forgets everything.
func (a *Aborted) Reset() { clear(a.first) }

// Hides reports whether b's records must not be seen by a reader of committed
// data.
func (a *Aborted) Hides(b *Batch) bool {
	if len(a.first) == 0 || !b.Transactional() || b.Control() {
		return false
	}
	list := a.first[b.ProducerID]
	return len(list) > 0 && b.First >= list[0]
}

// Marker takes note of a transaction marker (a control batch with its
// decompressed payload): an abort ends the producer's oldest aborted
// transaction.
func (a *Aborted) Marker(b *Batch, r *Reader) {
	list := a.first[b.ProducerID]
	rec := r.Next()
	if len(list) == 0 || rec == nil || !isAbort(rec.Key) || b.First < list[0] {
		return
	}
	a.first[b.ProducerID] = list[1:]
}

// isAbort reads a control record's key: version and type, two bytes each.
func isAbort(key []byte) bool {
	return len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}
