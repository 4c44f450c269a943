package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBuffersFitTheirClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 1<<12), rapid.IntRange(0, maxPooled)).Draw(t, "n")
		k, size := class(n)
		if size < n || size > max(n+n/4+1, minPooled) || k < 0 || k >= len(pool.classes) {
			t.Fatalf("class(%d) = %d, %d", n, k, size)
		}
		if k2, size2 := class(size); k2 != k || size2 != size {
			t.Fatalf("class(%d) = %d, %d, but class(%d) = %d, %d", n, k, size, size, k2, size2)
		}
		// Buffers of one index have one size.
		if m := rapid.IntRange(0, maxPooled).Draw(t, "m"); m != n {
			if k2, size2 := class(m); (k2 == k) != (size2 == size) {
				t.Fatalf("class(%d) = %d, %d, but class(%d) = %d, %d", n, k, size, m, k2, size2)
			}
		}
	})
}

func TestPoolTakesBackOnlyItsOwn(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, 1<<10 + 1, 1 << 20, 1<<20 + 1} {
		b := pool.Get(n)
		if len(*b) != n || cap(*b) < n {
			t.Errorf("Get(%d): len %d, cap %d", n, len(*b), cap(*b))
		}
		pool.Put(b)
	}
	odd := make([]byte, 3001)
	pool.Put(&odd)
	for range 100 {
		if b := pool.Get(3000); cap(*b) == cap(odd) {
			t.Fatal("a buffer of an odd size came out of the pool")
		}
	}
}
