package wire

import (
	"context"
	"testing"
	"testing/synctest"
)

type flushLog chan uint64

func (f flushLog) Flush(_ context.Context, seq uint64) error { f <- seq; return nil }

func TestFlushIsPassedOnAtOnceAndAgainOnceWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := make(flushLog, 10)
		f := newFlusher()
		l := newLife(t.Context())
		l.run(func() error { return f.run(l.ctx, log) })
		expect := func(what string, want ...uint64) {
			t.Helper()
			synctest.Wait()
			for _, w := range want {
				select {
				case got := <-log:
					if got != w {
						t.Errorf("%s: Flush(%d), want %d", what, got, w)
					}
				default:
					t.Errorf("%s: no Flush(%d)", what, w)
				}
			}
			if len(log) > 0 {
				t.Errorf("%s: one more Flush(%d)", what, <-log)
			}
		}
		f.wrote(1)
		expect("nothing asked")
		f.ask(3)
		expect("beside a Write that waits", 3)
		f.ask(3)
		f.wrote(2)
		expect("not written yet")
		f.wrote(3)
		expect("written", 3)
		f.ask(2)
		expect("an older one")
		f.wrote(5)
		f.ask(5)
		expect("already written", 5)
		l.end(context.Canceled)
	})
}
