package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var byteUnits = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseBytes reads "128MiB", "64KB" or "1048576". The error is a sentence for
// people, without the value.
func parseBytes(s string) (int64, error) {
	factor, number := int64(1), strings.TrimSpace(s)
	for _, u := range byteUnits {
		if head, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(head), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		return 0, errors.New(`Write a whole number with a unit: "128MiB", "64KiB", "1GB", or a number of bytes.`)
	case n <= 0:
		return 0, errors.New("It must be more than zero.")
	case n > math.MaxInt64/factor:
		return 0, errors.New("It is too large.")
	}
	return n * factor, nil
}

// parseDuration reads Go's durations and refuses what lies outside the range.
func parseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, errors.New(`Write a number with a unit: "500ms", "10s", "1m30s".`)
	case d < least || d > most:
		return 0, fmt.Errorf("It must lie between %s and %s.", least, most)
	}
	return d, nil
}
