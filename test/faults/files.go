package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// visibleFiles lists the linked files of the log, which a reader would see,
// in the log's order. File n is linked only after file n-1: where one is
// listed, all before it are there.
func visibleFiles(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.parquet"))
	slices.SortFunc(files, func(a, b string) int { return fileNumber(a) - fileNumber(b) })
	return files
}

// fileNumber is a file's place in the log.
func fileNumber(path string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".parquet"))
	return n
}

// filesBelow is a number below which all files of the log are visible.
func filesBelow(dir string) int {
	visible := visibleFiles(dir)
	if len(visible) == 0 {
		return 0
	}
	return fileNumber(visible[len(visible)-1]) + 1
}
