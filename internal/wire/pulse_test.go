package wire

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
)

func TestSilenceIsNoticedAfterThreeIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse(0, func() uint64 { return 17 }, func(*twgpb.Ping, *twgpb.Pong) error { return nil })
		p.pong(&twgpb.Pong{OldestSeq: 12})
		began := time.Now()
		err := p.watch(t.Context())
		if d := time.Since(began); d < 3*PingInterval || d > 4*PingInterval {
			t.Errorf("noticed after %v", d)
		}
		for _, w := range []string{"no answer to 3 pings", "17 here", "12 there"} {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("the error lacks %q: %v", w, err)
			}
		}
	})
}

// A Write of a minute on the other side does not matter: pings go on beside it.
func TestWhoAnswersIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b *pulse
		pings := map[string]int{}
		var mu sync.Mutex
		to := func(name string, peer **pulse) func(*twgpb.Ping, *twgpb.Pong) error {
			return func(ping *twgpb.Ping, pong *twgpb.Pong) error {
				(*peer).hear()
				if ping != nil {
					mu.Lock()
					pings[name]++
					mu.Unlock()
					(*peer).ping(ping)
				} else {
					(*peer).pong(pong)
				}
				return nil
			}
		}
		a = newPulse(0, func() uint64 { return 1 }, to("a", &b))
		b = newPulse(0, func() uint64 { return 2 }, to("b", &a))
		l := newLife(t.Context())
		for _, p := range []*pulse{a, b} {
			l.run(func() error { return p.watch(l.ctx) })
			l.run(func() error { return p.talk(l.ctx) })
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := l.cause(); err != nil {
			t.Errorf("after a minute: %v", err)
		}
		if a.theirs.Load() != 2 || b.theirs.Load() != 1 || pings["a"] < 10 || pings["b"] < 10 {
			t.Errorf("pings %v, oldest %d and %d", pings, a.theirs.Load(), b.theirs.Load())
		}
		l.end(context.Canceled)
	})
}

// A send that hangs, because the other side has stopped and the windows are
// full, does not hide the silence.
func TestSilenceIsNoticedBesideASendThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t.Context())
		p := newPulse(0, func() uint64 { return 0 }, func(*twgpb.Ping, *twgpb.Pong) error {
			<-l.ctx.Done()
			return l.cause()
		})
		l.run(func() error { return p.watch(l.ctx) })
		l.run(func() error { return p.talk(l.ctx) })
		<-l.ctx.Done()
		if err := l.cause(); !strings.Contains(err.Error(), "no answer") {
			t.Error(err)
		}
		l.wg.Wait()
	})
}
