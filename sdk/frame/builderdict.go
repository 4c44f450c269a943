package frame

import "strings"

// streamDict and nameDict keep what they have seen beyond Reset, so that the
// streams and names that come again cost no allocation. gen tells what
// belongs to the frame that is being built.
type entry struct {
	gen   uint64
	index int
}

const maxKept = 1024

type streamDict struct {
	gen     uint64
	seen    map[Stream]entry
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
	if !ok {
		s = Stream{strings.Clone(s.Cluster), strings.Clone(s.Topic), strings.Clone(s.Incarnation), s.Partition}
	}
	return d.add(s)
}

func (d *streamDict) add(s Stream) int {
	if d.seen == nil {
		d.seen = make(map[Stream]entry)
	}
	k := len(d.list)
	d.seen[s] = entry{d.gen, k}
	d.list = append(d.list, s)
	d.strings += len(s.Cluster) + len(s.Topic) + len(s.Incarnation)
	return k
}

type nameDict struct {
	gen     uint64
	seen    map[string]entry
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
	if !ok {
		name = strings.Clone(name)
	}
	return d.add(name)
}

func (d *nameDict) add(name string) int {
	if d.seen == nil {
		d.seen = make(map[string]entry)
	}
	k := len(d.list)
	d.seen[name] = entry{d.gen, k}
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
