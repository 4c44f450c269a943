package main

import "strings"

// lookAt suggests commands that read a target; empty: none is known.
func lookAt(target string) []string {
	dir, ok := strings.CutPrefix(target, "directory ")
	if !ok || strings.ContainsAny(dir, "'\"\\$`\n") {
		return nil
	}
	return []string{
		// A value need not be UTF-8, and decode alone fails for what is not.
		`duckdb -c "select topic, partition, position, coalesce(try(decode(value)), value::varchar) as value from read_parquet('` + dir + `/*.parquet') limit 5"`,
		`python3 -c "import pyarrow.parquet as p; print(p.read_table('` + dir + `').slice(0, 5))"`,
	}
}
