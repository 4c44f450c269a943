//go:build !mutant_no_fsync

package disk

// Default opens a directory as the sink does.
func Default(path string, create bool) (Dir, error) { return Local(path, create) }
