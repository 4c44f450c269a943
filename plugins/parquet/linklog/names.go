package linklog

import (
	"fmt"
	"strconv"
	"strings"
)

// digits is the width of a commit's number in its name, so that names sort.
const digits = 12

// Name is commit n's name in a log of the suffix.
func Name(n uint64, suffix string) string { return fmt.Sprintf("%0*d%s", digits, n, suffix) }

// Number reads a commit's name. ok is false for a name that is none of a
// log's; an error means a name that looks like one and is not.
func Number(name, suffix string) (n uint64, ok bool, err error) {
	d, found := strings.CutSuffix(name, suffix)
	if !found || d == "" || strings.Trim(d, "0123456789") != "" {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(d, 10, 64)
	if err != nil || n == 0 || name != Name(n, suffix) {
		return 0, false, fmt.Errorf("%s is not a name that twg gives (%s is): move it out of the directory", name, Name(max(n, 1), suffix))
	}
	return n, true, nil
}

// Temporary files are hidden, and no reader's *.parquet matches them.
const (
	tempPrefix = ".twg-"
	tempSuffix = ".tmp"
)

// IsTemp reports whether the name is a temporary file's.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}
