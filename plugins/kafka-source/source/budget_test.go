package source

import "testing"

// However much credit there is, what is asked of many brokers stays within the
// most that the plugin says it prefetches, and the last of them get something.
func TestPrefetchIsBounded(t *testing.T) {
	set := Settings{FetchMaxBytes: 4 << 20}
	b := newBudget(set.prefetch())
	var asked int64
	brokers := 0
	for {
		n, _ := b.reserve(1<<40, int64(set.FetchMaxBytes))
		if n == 0 {
			break
		}
		asked, brokers = asked+n, brokers+1
	}
	if asked > set.prefetch() || asked < set.prefetch()-minFetch {
		t.Errorf("%d bytes were asked for, want close below %d", asked, set.prefetch())
	}
	if brokers <= prefetchRequests {
		t.Errorf("only %d brokers were asked", brokers)
	}
	b.add(-asked)
	if n, _ := b.reserve(100, int64(set.FetchMaxBytes)); n != minFetch {
		t.Errorf("with nothing reserved and little credit %d bytes, want %d", n, minFetch)
	}
}
