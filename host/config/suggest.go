package config

import (
	"fmt"
	"strings"
)

// didYouMean names the candidate that name was probably meant to be, or lists
// all of them.
func didYouMean(name string, candidates []string) string {
	switch best := closest(name, candidates); {
	case best != "":
		return fmt.Sprintf("Did you mean %q?", best)
	case len(candidates) == 0:
		return "None is allowed here."
	}
	return "There are: " + strings.Join(candidates, ", ") + "."
}

// closest returns the candidate within two slips of name, or one that begins
// with it; empty: none.
func closest(name string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		d := editDistance(name, c)
		if len(name) >= 3 && strings.HasPrefix(c, name) {
			d = min(d, 2)
		}
		if d < distance && d < len(c) {
			best, distance = c, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours.
func editDistance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
