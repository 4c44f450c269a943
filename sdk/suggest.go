package sdk

import (
	"fmt"
	"strings"
)

// suggest names the one of names that was probably meant, or all of them.
func suggest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, n := range names {
		if d := editDistance(name, n); d <= least {
			best, least = n, d-1
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("Did you mean %q?", best)
	case len(names) == 0:
		return "No setting is allowed here."
	}
	return "There are: " + strings.Join(names, ", ") + "."
}

// editDistance counts the bytes to insert, delete or replace to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
