//go:build mutant_no_fsync

package disk

// Default opens a directory as the sink does; here with the deliberate error
// that nothing is synced.
func Default(path string, create bool) (Dir, error) {
	d, err := Local(path, create)
	if err != nil {
		return nil, err
	}
	return newLossy(d, true), nil
}
