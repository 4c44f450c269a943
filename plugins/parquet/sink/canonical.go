package sink

import "path/filepath"

// canonical is a directory by one name: absolute, and with no symbolic link as
// far as it exists.
func canonical(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	for there, rest := abs, ""; ; {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(there)
		if up == there {
			return abs
		}
		there, rest = up, filepath.Join(filepath.Base(there), rest)
	}
}
