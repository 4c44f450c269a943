package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/twg-io/twg/host/admin/view"
)

// clean keeps names of topics and texts of errors from driving the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

// count writes a number with groups of three digits.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size writes bytes with the unit that leaves few digits.
func size(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", n)
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

// length writes a time as people say it.
func length(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// age is how long before now t was; "-": never.
func age(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return length(max(now.Sub(t), 0))
}

// quantile is the bound below which the part q of a histogram's values lies,
// as text.
func quantile(h *view.Histogram, q float64) string {
	var all, n uint64
	for _, c := range h.Counts {
		all += c
	}
	if all == 0 || len(h.Counts) != len(h.Bounds)+1 {
		return "-"
	}
	for i, b := range h.Bounds {
		if n += h.Counts[i]; float64(n) >= q*float64(all) {
			return "≤" + length(time.Duration(b*float64(time.Second)))
		}
	}
	return ">" + length(time.Duration(h.Bounds[len(h.Bounds)-1]*float64(time.Second)))
}

// lag is what all streams of a pipeline lack; "unknown" while one's end is not
// known.
func lag(streams []view.Stream) (records, seconds string) {
	var n int64
	var most float64
	for _, s := range streams {
		if s.Lag < 0 {
			return "unknown", "unknown"
		}
		n, most = n+s.Lag, max(most, s.LagSeconds)
	}
	if len(streams) == 0 {
		return "unknown", "unknown"
	}
	return count(n), length(time.Duration(most * float64(time.Second)))
}

func position(p int64) string {
	if p < 0 {
		return "-"
	}
	return strconv.FormatInt(p, 10)
}
