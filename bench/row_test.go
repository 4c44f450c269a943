package main

import (
	"strings"
	"testing"
)

func TestPairCheck(t *testing.T) {
	same, other, changed := outcomeOf(1, 1), outcomeOf(1, 1), outcomeOf(1, 1)
	other.output.ids[1] = 9
	changed.output.content = "9"
	for _, c := range []struct {
		name  string
		pair  pair
		wrong string
	}{
		{"same", pair{same, same, same}, ""},
		{"no second run", pair{twg: same, yardstick: same}, ""},
		{"other ids", pair{other, same, same}, "ids"},
		{"other ids with two connections", pair{same, same, other}, "ids"},
		{"other columns", pair{changed, same, same}, "rows"},
	} {
		err := c.pair.check()
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.wrong)
		}
	}
}
