package flow

import "math"

const (
	// sampleSize bounds what an Expansion remembers.
	sampleSize = 128
	// enoughSamples: with fewer the conservative ratio holds.
	enoughSamples = 16
	// octaves and steps span the ratios from 1 to 4096, each step at most an
	// eighth wider than the one before.
	octaves, steps = 12, 8
	buckets        = octaves*steps + 1
)

// Expansion estimates what one byte that a source delivers of a stream takes in
// memory: the p95 of the newest samples, not their mean. A few records that
// expand a lot would pull the mean, and the budget would be reserved in vain.
// The zero value knows nothing.
type Expansion struct {
	ring   [sampleSize]uint8 // buckets of the newest samples
	counts [buckets]uint8
	n      int // samples in ring
	next   int // where the next one goes
	at     int // the bucket of the p95
	above  int // samples in buckets above it
}

// Add takes a sample: expanded bytes for each compressed one. What is not a
// ratio, or is below one, counts as one.
func (e *Expansion) Add(ratio float64) {
	b := bucketOf(ratio)
	if e.n == sampleSize {
		e.forget(int(e.ring[e.next]))
	} else {
		e.n++
	}
	e.ring[e.next] = uint8(b)
	e.next = (e.next + 1) % sampleSize
	e.counts[b]++
	if b > e.at {
		e.above++
	}
	e.settle()
}

func (e *Expansion) forget(b int) {
	e.counts[b]--
	if b > e.at {
		e.above--
	}
}

// settle moves to the lowest bucket that leaves at most a twentieth above it.
func (e *Expansion) settle() {
	most := e.n / 20
	for e.above > most {
		e.at++
		e.above -= int(e.counts[e.at])
	}
	for e.at > 0 && e.above+int(e.counts[e.at]) <= most {
		e.above += int(e.counts[e.at])
		e.at--
	}
}

// Samples counts what the estimate rests on, at most 128.
func (e *Expansion) Samples() int { return e.n }

// Ratio is the estimate, at least one: the upper bound of the p95's bucket,
// which passes the p95 by an eighth at most. With too few samples it is the
// conservative ratio, or more if they say so.
func (e *Expansion) Ratio() float64 {
	r := upperBound(e.at)
	if e.n < enoughSamples {
		return max(r, conservative)
	}
	return r
}

// Seen is what the samples say, however few they are: 1 without any.
func (e *Expansion) Seen() float64 { return upperBound(e.at) }

// one is the bit pattern of the ratio 1, without the mantissa's lower bits.
const mantissa, one = 49, uint64(1023) << 3

// bucketOf returns the bucket whose upper bound is the least that is not below
// the ratio. A float's exponent and its mantissa's first three bits are just
// the number of its bucket.
func bucketOf(ratio float64) int {
	if !(ratio > 1) {
		return 0
	}
	b := (math.Float64bits(ratio)-1)>>mantissa - one + 1
	return int(min(b, buckets-1))
}

func upperBound(b int) float64 { return math.Float64frombits((one + uint64(b)) << mantissa) }
