package dirlog

import (
	"fmt"
	"strconv"
	"strings"
)

// digits is the width of a commit's number in its name, so that names sort.
const digits = 12

const suffix = ".parquet"

// FileName is commit n's name.
func FileName(n uint64) string { return fmt.Sprintf("%0*d%s", digits, n, suffix) }

// number reads a commit's name. ok is false for a name that is none of ours;
// an error means a name that looks like ours and is not.
func number(name string) (n uint64, ok bool, err error) {
	d, found := strings.CutSuffix(name, suffix)
	if !found || d == "" || strings.Trim(d, "0123456789") != "" {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(d, 10, 64)
	if err != nil || n == 0 || name != FileName(n) {
		return 0, false, fmt.Errorf("%s is not a name that twg gives (%s is): move it out of the directory", name, FileName(max(n, 1)))
	}
	return n, true, nil
}

// Temporary files are hidden, and no reader's *.parquet matches them.
const (
	tempPrefix = ".twg-"
	tempSuffix = ".tmp"
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}
