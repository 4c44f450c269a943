package frame

import "fmt"

// column is a column of byte strings: n+1 offsets into data, and a bitmap of
// what is not null (empty: nothing is null).
type column struct{ off, data, valid []byte }

func (c *column) at(i int) []byte {
	if len(c.valid) != 0 && c.valid[i>>3]>>(i&7)&1 == 0 {
		return nil
	}
	o := c.off[i*4 : i*4+8]
	from, to := le.Uint32(o), le.Uint32(o[4:])
	return c.data[from:to:to]
}

func (c *column) text(i int) string { return string(c.at(i)) }

// checkOffsets wants the offsets off to start at 0, not to fall, and to end at
// end. Its caller has made sure that there is at least one.
func checkOffsets(off []byte, end int) error {
	if first := le.Uint32(off); first != 0 {
		return fmt.Errorf("starts at %d, not at 0", first)
	}
	prev := uint32(0)
	for i := 4; i+4 <= len(off); i += 4 {
		cur := le.Uint32(off[i:])
		if cur < prev {
			return fmt.Errorf("entry %d is %d, less than %d before it", i/4, cur, prev)
		}
		prev = cur
	}
	if uint64(prev) != uint64(end) {
		return fmt.Errorf("ends at %d, not at %d", prev, end)
	}
	return nil
}

// checkIndices wants every index to be below limit. A negative one is above
// it, read as unsigned.
func checkIndices(idx []byte, limit int) error {
	for i := 0; i+4 <= len(idx); i += 4 {
		if k := le.Uint32(idx[i:]); uint64(k) >= uint64(limit) {
			return fmt.Errorf("entry %d is %d, of a dictionary of %d", i/4, int32(k), limit)
		}
	}
	return nil
}

// checkValid wants the bits beyond n to be zero, and nothing null to have
// bytes: there is one way only to write a null.
func (c *column) checkValid(n int) error {
	if len(c.valid) == 0 {
		return nil
	}
	if r := n & 7; r != 0 && c.valid[len(c.valid)-1]>>r != 0 {
		return fmt.Errorf("bits beyond the last of %d are not zero", n)
	}
	for i := range n {
		if c.valid[i>>3]>>(i&7)&1 == 0 && le.Uint32(c.off[i*4:]) != le.Uint32(c.off[i*4+4:]) {
			return fmt.Errorf("entry %d is null but has bytes", i)
		}
	}
	return nil
}
