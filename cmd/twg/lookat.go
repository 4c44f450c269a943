package main

import "strings"

// lookAt suggests commands that read a target; empty: none is known.
func lookAt(target string) []string {
	dir, ok := strings.CutPrefix(target, "directory ")
	if !ok || strings.ContainsAny(dir, "'\"\\$`\n") {
		return nil
	}
	return []string{
		`duckdb -c "select topic, partition, position, decode(value) as value from read_parquet('` + dir + `/*.parquet') limit 5"`,
		`python3 -c "import pyarrow.parquet as p; print(p.read_table('` + dir + `').slice(0, 5))"`,
	}
}
