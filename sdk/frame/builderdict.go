package frame

import "strings"

// streamDict and nameDict keep what they have seen beyond Reset, so that the
// streams and names that come again cost no allocation. gen tells what
// belongs to the frame that is being built.
type entry[K any] struct {
	gen   uint64
	index int
	// own is the key in memory of our own: the caller's strings may lie in a
	// buffer that is used again, and a map's key is replaced by an equal one.
	own K
}

const maxKept = 1024

type streamDict struct {
	gen     uint64
	seen    map[Stream]entry[Stream]
	list    []Stream
	strings int // bytes of the strings of list
}

func (d *streamDict) len() int { return len(d.list) }

func (d *streamDict) reset() {
	d.gen++
	d.list, d.strings = d.list[:0], 0
	if len(d.seen) > maxKept {
		clear(d.seen)
	}
}

func (d *streamDict) index(s Stream) int {
	e, ok := d.seen[s]
	if ok && e.gen == d.gen {
		return e.index
	}
	if ok {
		return d.add(e.own)
	}
	return d.add(Stream{strings.Clone(s.Cluster), strings.Clone(s.Topic), strings.Clone(s.Incarnation), s.Partition})
}

func (d *streamDict) add(s Stream) int {
	if d.seen == nil {
		d.seen = make(map[Stream]entry[Stream])
	}
	k := len(d.list)
	d.seen[s] = entry[Stream]{d.gen, k, s}
	d.list = append(d.list, s)
	d.strings += len(s.Cluster) + len(s.Topic) + len(s.Incarnation)
	return k
}

type nameDict struct {
	gen     uint64
	seen    map[string]entry[string]
	list    []string
	strings int
}

func (d *nameDict) reset() {
	d.gen++
	d.list, d.strings = d.list[:0], 0
	if len(d.seen) > maxKept {
		clear(d.seen)
	}
}

func (d *nameDict) index(name string) int {
	e, ok := d.seen[name]
	if ok && e.gen == d.gen {
		return e.index
	}
	if ok {
		return d.add(e.own)
	}
	return d.add(strings.Clone(name))
}

func (d *nameDict) add(name string) int {
	if d.seen == nil {
		d.seen = make(map[string]entry[string])
	}
	k := len(d.list)
	d.seen[name] = entry[string]{d.gen, k, name}
	d.list = append(d.list, name)
	d.strings += len(name)
	return k
}

// stringWriter writes an array of strings: the offsets, then the bytes.
type stringWriter struct{ off, data []byte }

func newStringWriter(dst []byte, count int) *stringWriter {
	w := &stringWriter{off: dst[:4*(count+1)], data: dst[4*(count+1):]}
	w.data = w.data[:0]
	le.PutUint32(w.off, 0)
	w.off = w.off[4:]
	return w
}

func (w *stringWriter) add(s string) {
	w.data = append(w.data, s...)
	le.PutUint32(w.off, uint32(len(w.data)))
	w.off = w.off[4:]
}

func (d *streamDict) fill(dst []byte) {
	le.PutUint32(dst, uint32(len(d.list)))
	dst = dst[4:]
	for _, s := range d.list {
		le.PutUint32(dst, uint32(s.Partition))
		dst = dst[4:]
	}
	w := newStringWriter(dst, 3*len(d.list))
	for _, s := range d.list {
		w.add(s.Cluster)
		w.add(s.Topic)
		w.add(s.Incarnation)
	}
}

func (d *nameDict) fill(dst []byte) {
	le.PutUint32(dst, uint32(len(d.list)))
	w := newStringWriter(dst[4:], len(d.list))
	for _, s := range d.list {
		w.add(s)
	}
}
