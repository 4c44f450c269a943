package sdk

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes, never negative where it was parsed.
type ByteSize int64

var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseByteSize reads "64MiB", "10 GB" or "1048576". The error does not repeat
// the text.
func ParseByteSize(s string) (ByteSize, error) {
	digits, unit := strings.TrimSpace(s), int64(1)
	for _, u := range byteUnits {
		if head, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = strings.TrimSpace(head), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(math.MaxInt64/unit) {
		return 0, errors.New("a size must be less than 2^63 bytes")
	}
	if err != nil {
		return 0, errors.New(`a size is a whole number and a unit, such as "64MiB" or "1GB", or a number of bytes`)
	}
	return ByteSize(int64(n) * unit), nil
}

// String writes the size in the largest binary unit that divides it.
func (b ByteSize) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.bytes == 0 {
			return strconv.FormatInt(int64(b)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
