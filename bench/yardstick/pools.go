package main

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pools lets the client decode into memory that was used before. Records go
// back by Recycle, once they are in a column buffer.
type pools struct {
	bytes   free[byte]
	records free[kgo.Record]
}

func (p *pools) GetDecompressBytes(c []byte, _ kgo.CompressionCodecType) []byte {
	return p.bytes.get(8 * len(c))
}
func (p *pools) PutDecompressBytes(b []byte)     { p.bytes.put(b) }
func (p *pools) GetRecords(n int) []kgo.Record   { return p.records.get(n) }
func (p *pools) PutRecords(records []kgo.Record) { p.records.put(records) }

// free is a short list of slices to use again.
type free[T any] struct {
	mu    sync.Mutex
	spare [][]T
}

const maxSpare = 64

// get returns an empty slice with room for n.
func (f *free[T]) get(n int) []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := len(f.spare); k > 0 {
		s := f.spare[k-1]
		f.spare = f.spare[:k-1]
		if cap(s) >= n {
			return s[:0]
		}
	}
	return make([]T, 0, n)
}

func (f *free[T]) put(s []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.spare) < maxSpare {
		f.spare = append(f.spare, s[:0])
	}
}
