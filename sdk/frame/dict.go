package frame

import "fmt"

// The two dictionaries are frozen as follows.
//
// Buffer 14, the streams: count u32, partition i32[count], offsets
// i32[3*count+1], bytes. The strings 3k, 3k+1 and 3k+2 are the cluster, the
// topic and the incarnation of stream k. No stream is there twice.
//
// Buffer 15, the header names: count u32, offsets i32[count+1], bytes.
//
// Offsets and bytes are an Arrow binary array: offsets start at 0, do not
// fall, and end at the number of bytes. The strings need not be UTF-8.

// openStrings reads an array of count strings that fills b.
func openStrings(b []byte, count uint64) (column, error) {
	size := 4 * (count + 1)
	if uint64(len(b)) < size {
		return column{}, fmt.Errorf("%d bytes are too few for %d strings", len(b), count)
	}
	c := column{off: b[:size:size], data: b[size:]}
	return c, checkOffsets(c.off, len(c.data))
}

func dictCount(b []byte) (uint64, error) {
	if len(b) < 4 {
		return 0, fmt.Errorf("%d bytes hold no count", len(b))
	}
	return uint64(le.Uint32(b)), nil
}

func openStreams(b []byte) ([]Stream, error) {
	count, err := dictCount(b)
	if err != nil {
		return nil, err
	}
	if uint64(len(b)-4) < 4*count {
		return nil, fmt.Errorf("%d bytes are too few for %d streams", len(b), count)
	}
	partitions := b[4 : 4+4*count]
	c, err := openStrings(b[4+4*count:], 3*count)
	if err != nil {
		return nil, err
	}
	streams := make([]Stream, count)
	for k := range streams {
		streams[k] = Stream{c.text(3 * k), c.text(3*k + 1), c.text(3*k + 2), int32(le.Uint32(partitions[4*k:]))}
	}
	return streams, checkDistinct(streams)
}

// checkDistinct: a stream with two indices would fall apart into two groups
// of rows.
func checkDistinct(streams []Stream) error {
	if len(streams) < 2 {
		return nil
	}
	seen := make(map[Stream]int, len(streams))
	for k, s := range streams {
		if first, ok := seen[s]; ok {
			return fmt.Errorf("streams %d and %d are the same: %s", first, k, s)
		}
		seen[s] = k
	}
	return nil
}

func openNames(b []byte) ([]string, error) {
	count, err := dictCount(b)
	if err != nil {
		return nil, err
	}
	c, err := openStrings(b[4:], count)
	if err != nil || count == 0 {
		return nil, err
	}
	names := make([]string, count)
	for k := range names {
		names[k] = c.text(k)
	}
	return names, nil
}
