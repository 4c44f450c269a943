package main

import "strings"

// lookAt suggests a command that reads a target; empty: none is known.
func lookAt(target string) string {
	dir, ok := strings.CutPrefix(target, "directory ")
	if !ok || strings.ContainsAny(dir, "'\"\n") {
		return ""
	}
	return `duckdb -c "select * from read_parquet('` + dir + `/*.parquet') limit 5"`
}
