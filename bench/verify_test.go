package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// complete are the rows of a topic of n records.
func complete(n int64) []outputRow {
	rows := make([]outputRow, n)
	for k := range n {
		rows[k] = outputRow{Topic: "t", Partition: int32(k % partitions), Position: k / partitions}
		rows[k].ID[15] = 1
	}
	return rows
}

func TestReadOutput(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  []outputRow
		wrong string
	}{
		{"complete", complete(11), ""},
		{"one is missing", complete(11)[1:], "10 rows of 11"},
		{"one is there twice", append(complete(11), outputRow{Topic: "t", Partition: 2, Position: 1}), "twice"},
		{"one instead of another", append(complete(11)[1:], outputRow{Topic: "t", Partition: 2, Position: 1}), "twice"},
		{"one too many", complete(12), "never produced"},
		{"another topic", append(complete(11), outputRow{Topic: "u"}), "never produced"},
		{"no such partition", append(complete(11), outputRow{Topic: "t", Partition: 4}), "never produced"},
	} {
		dir := t.TempDir()
		half := len(c.rows) / 2
		for name, rows := range map[string][]outputRow{"1.parquet": c.rows[:half], "2.parquet": c.rows[half:], "3.parquet": nil} {
			if err := parquet.WriteFile(filepath.Join(dir, name), rows); err != nil {
				t.Fatal(err)
			}
		}
		o, err := readOutput(dir, []string{"t"}, 11)
		if c.wrong == "" {
			if err != nil || o.files != 3 || o.ids != [2]uint64{0, 11} {
				t.Errorf("%s: %+v, %v", c.name, o, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.wrong)
		}
	}
}
