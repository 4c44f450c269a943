package wire

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
)

func TestCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCredit(true)
		took := make(chan error, 1)
		take := func(n int64) {
			go func() { took <- c.take(t.Context(), t.Context(), n) }()
			synctest.Wait()
		}
		blocked := func(what string) {
			t.Helper()
			select {
			case err := <-took:
				t.Errorf("%s: not blocked (%v)", what, err)
			default:
			}
		}
		take(10)
		blocked("no credit")
		c.add(1, 0)
		synctest.Wait()
		blocked("no batches")
		c.add(0, 2)
		if err := <-took; err != nil { // one may overdraw
			t.Error(err)
		}
		take(1)
		blocked("overdrawn")
		c.add(9, 0)
		synctest.Wait()
		blocked("nothing left")
		c.add(1, 0)
		if err := <-took; err != nil {
			t.Error(err)
		}
	})
}

func TestCreditEndsWithEitherContext(t *testing.T) {
	c := newCredit(false)
	life, end := context.WithCancelCause(t.Context())
	end(errAborted)
	if _, err := c.wait(t.Context(), life); !errors.Is(err, errAborted) {
		t.Errorf("the stream's end gives %v", err)
	}
	if _, err := c.wait(ended(), t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's end gives %v", err)
	}
}

func TestCreditThatIsNone(t *testing.T) {
	c := newCredit(true)
	for _, x := range [][2]int64{{-1, 0}, {0, -1}} {
		if err := c.add(x[0], x[1]); !errors.Is(err, ErrProtocol) {
			t.Errorf("credit %v: %v", x, err)
		}
	}
	for range 3 {
		if err := c.add(math.MaxInt64, math.MaxInt64); err != nil {
			t.Error(err)
		}
	}
	if n, err := c.wait(t.Context(), t.Context()); n != math.MaxInt64 || err != nil {
		t.Errorf("much credit is %d, %v", n, err)
	}
	if c.spend(5); !c.spend(1) {
		t.Error("much credit is not enough")
	}
}
