package pipeline

import (
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// simProfile is a world's workload and weather, which vary as widely as the
// faults.
type simProfile struct {
	limit              int // steps of the storm
	topics, partitions int
	skew               bool // a few streams have most of the records
	gaps               int  // of 16 positions, how many have no record; 16: long gaps
	sizes              int
	batch              int64 // positions of a stream in one batch, at most
	frame              int   // bytes of a frame, about
	beat               time.Duration
	burst              int64
	idle               bool // hours of silence
	backlog            int64
	slow               time.Duration // a call takes up to that long
	lazy               time.Duration // and a secondary's write
	rare               int           // of faults
	contended          bool          // whoever works on a window may be in for something
	named              bool          // nobody shares out the streams, and the store keeps the positions
	files              bool          // the store is the real one of a Parquet directory
	violent            bool          // hosts do not live long
	sleep, lease       time.Duration
	hosts, lanes       int
	budget, buffer     int64
	windowRows         int64
	lazyPrune          bool // the broker keeps what was committed for a while
	tick               time.Duration
}

func (p simProfile) String() string {
	type plain simProfile // has no String
	return fmt.Sprintf("%+v", plain(p))
}

// pick chooses one of several values. The lock is held.
func pick[T any](s *sim, of ...T) T { return of[s.roll("profile", len(of))] }

// profile draws a world. The lock is held.
func (s *sim) profile() simProfile {
	pr := simProfile{
		limit:  pick(s, 500, 1500, 4000, 10_000),
		topics: pick(s, 1, 1, 2, 3), partitions: pick(s, 1, 2, 3, 8, 20), skew: pick(s, true, false),
		gaps: pick(s, 0, 0, 1, 6, 13, 16), sizes: pick(s, sizesTiny, sizesEmpty, sizesMixed, sizesHuge),
		batch: pick[int64](s, 1, 6, 40, 300), frame: pick(s, 500, 8000, 256<<10),
		beat: pick(s, 20*time.Millisecond, 300*time.Millisecond, 3*time.Second), burst: pick[int64](s, 1, 8, 30, 400),
		idle: pick(s, true, false, false), backlog: pick[int64](s, 30, 500, 5000),
		slow: pick(s, time.Millisecond, 50*time.Millisecond, 400*time.Millisecond), rare: pick(s, 1, 1, 3, 10),
		violent: pick(s, true, false), sleep: pick(s, 10*time.Second, time.Minute, 5*time.Minute), lease: pick(s, 2*time.Second, 20*time.Second),
		contended: pick(s, true, false, false), lazy: pick(s, time.Millisecond, 100*time.Millisecond, 10*time.Second), hosts: pick(s, 1, 2, 2, 3, 4), lanes: pick(s, 1, 1, 2, 3),
		budget: pick[int64](s, 300, 3000, 30_000, 4<<20), buffer: pick[int64](s, 300, 3000, 30_000, 4<<20),
		windowRows: pick[int64](s, 1, 10, 60, 1000, 100_000), lazyPrune: pick(s, true, false, false),
		tick: pick(s, 300*time.Millisecond, 2*time.Second, 8*time.Second),
	}
	pr.files = pick(s, true, false, false)
	pr.named = s.roll("named", 4) == 0
	pr.windowRows = max(pr.windowRows, pr.backlog/100) // or there would be little else than claims
	return pr
}

const (
	sizesTiny = iota
	sizesEmpty
	sizesMixed
	sizesHuge
)

// simStream is one stream, at the broker and in raw.
type simStream struct {
	s    *sim
	key  sdk.Stream
	name string
	salt uint64
	// base is the first position that ever was. What is below start is gone,
	// below forced for other reasons than that it was committed.
	base, start, end, forced int64
	committed                int64
	// stale is what was committed of the topic before that had this name.
	stale    int64
	staleInc string
	owner    *simReader
	run      uint64 // the owner's; 0: none
	deleted  bool

	rows     []uint8 // raw's: how often
	cov      coverage.Set
	rawFloor int64
	gone     int64 // what is below is really deleted
	epoch    sdk.Epoch
	holder   string // who acquired last, and what raw's first hole was then
	from     int64
}

// mix is a number for a position, the same in each run of a seed.
func (p *simStream) mix(pos int64) uint64 {
	x := uint64(pos)*0x9e3779b97f4a7c15 ^ p.salt
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>29
}

// exists reports whether there is a record at a position: markers and compacted
// records leave none.
func (p *simStream) exists(pos int64) bool {
	if pos < p.base {
		return false
	}
	if p.s.pr.gaps == 16 {
		return (pos-p.base)/25%3 != 1
	}
	return int(p.mix(pos)>>8%16) >= p.s.pr.gaps
}

func (p *simStream) size(h uint64) int {
	switch p.s.pr.sizes {
	case sizesTiny:
		return int(h % 30)
	case sizesEmpty:
		return int(h % 8 / 7)
	case sizesMixed:
		return int(h % 700)
	}
	if h%40 == 0 {
		return int(h % 40_000)
	}
	return int(h % 100)
}

// record fills r with what stands at a position. Null and empty are different.
func (p *simStream) record(pos int64, r *frame.Record) {
	h := p.mix(pos)
	*r = frame.Record{Position: pos, TimestampMS: pos}
	switch h >> 20 % 9 {
	case 0: // null
	case 1:
		r.Value = []byte{}
	default:
		r.Value = make([]byte, p.size(h>>32))
		for i := 0; i < 8 && i < len(r.Value); i++ {
			r.Value[i] = byte(h >> (8 * i))
		}
	}
	if h>>40%3 == 0 {
		r.Key = []byte{byte(h), byte(pos)}
	}
	if h>>44%5 == 0 {
		r.Headers = append(r.Headers, frame.Header{Name: "a", Value: r.Key}, frame.Header{Name: "a", Value: []byte{}})
	}
}

// same reports whether row i is what stands at its position.
func (p *simStream) same(v frame.View, i int, want, got *frame.Record) bool {
	p.record(v.Position(i), want)
	v.Record(i, got)
	if len(got.Headers) != len(want.Headers) || got.TimestampMS != want.TimestampMS || !alike(got.Key, want.Key) || !alike(got.Value, want.Value) {
		return false
	}
	for k, h := range got.Headers {
		if h.Name != want.Headers[k].Name || !alike(h.Value, want.Headers[k].Value) {
			return false
		}
	}
	return true
}

func alike(a, b []byte) bool { return (a == nil) == (b == nil) && string(a) == string(b) }

// has counts a row of a table by position. The lock is held.
func (p *simStream) has(rows []uint8, pos int64) int {
	if i := pos - p.base; i >= 0 && i < int64(len(rows)) {
		return int(rows[i])
	}
	return 0
}

// put sets how often a row is there. The lock is held.
func (p *simStream) put(rows *[]uint8, pos int64, n int) {
	i := pos - p.base
	for int64(len(*rows)) <= i {
		*rows = append(*rows, make([]uint8, i+1-int64(len(*rows)))...)
	}
	(*rows)[i] = uint8(min(n, 255))
}

// createTopic makes a topic's partitions. The lock is held.
func (s *sim) createTopic(name, inc string) {
	n := 1 + s.roll("profile", s.pr.partitions)
	for i := range n {
		k := sdk.Stream{Topic: name, Incarnation: inc, Partition: int32(i)}
		base := []int64{0, 0, 1000, 1 << 40}[s.roll("profile", 4)]
		p := &simStream{s: s, key: k, name: fmt.Sprint(name, inc, "/", i), salt: s.die("profile").Uint64(), base: base, start: base, end: base, forced: base,
			committed: sdk.NoPosition, stale: sdk.NoPosition}
		s.streams = append(s.streams, p)
		s.byKey[k] = p
	}
}
