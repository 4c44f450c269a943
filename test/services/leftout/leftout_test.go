//go:build !services

package leftout

import (
	"fmt"
	"testing"
)

// TestWhatIsLeftOut prints what this run does not show. go test shows that
// with -v, and the package's name without it.
func TestWhatIsLeftOut(t *testing.T) {
	out, err := Packages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no test file has the tag services, though there are some")
	}
	for _, dir := range out {
		fmt.Printf("left out: tests of ./%s that need a real Kafka or PostgreSQL (make test runs them; alone: go test -tags services ./%s)\n", dir, dir)
	}
}
