package source

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSparse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sparse
		said := 0
		for range 100 { // ten seconds and a little less
			if _, ok := s.now("down"); ok {
				said++
			}
			time.Sleep(99 * time.Millisecond)
		}
		if said != 1 {
			t.Errorf("said %d times in ten seconds, want once", said)
		}
		if _, ok := s.now("something else"); !ok {
			t.Error("something else was not said")
		}
		time.Sleep(time.Second)
		if n, ok := s.now("down"); !ok || n != 99 {
			t.Errorf("after ten seconds: %t, %d left out, want true and 99", ok, n)
		}
	})
}
