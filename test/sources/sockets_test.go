package sources

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// peer sends numbered records for as long as it lives. It forgets a record as
// soon as it was told that it is durable.
type peer struct {
	address string
	mu      sync.Mutex
	// first is the oldest record that it still has; last the newest, once it
	// is to stop making more.
	first, last int64
	stop        bool
	broken      error
	wg          sync.WaitGroup
}

func (p *peer) get(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// run connects again and again until done.
func (p *peer) run(done <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			p.wg.Wait()
			return
		case <-tick.C:
		}
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			continue
		}
		p.speak(c, done)
		c.Close()
	}
}

func (p *peer) speak(c net.Conn, done <-chan struct{}) {
	in := bufio.NewReader(c)
	line, err := in.ReadString('\n')
	if err != nil {
		return
	}
	var next int64
	if _, err := fmt.Sscanf(line, "RESUME sensors %d\n", &next); err != nil {
		p.get(func() { p.broken = fmt.Errorf("asked with %q", line) })
		return
	}
	p.get(func() {
		if next < p.first || next > p.last {
			p.broken = fmt.Errorf("asked for %d; records [%d,%d) are there", next, p.first, p.last)
		}
	})
	fmt.Fprintf(c, "OK %d ACK\n", next)
	p.wg.Go(func() {
		defer c.Close()
		p.listen(in)
	})
	p.send(c, next, done)
}

// listen forgets what is durable.
func (p *peer) listen(in *bufio.Reader) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		next, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(line, "DURABLE "), "\n"), 10, 64)
		p.get(func() {
			if err != nil || next < p.first || next > p.last {
				p.broken = fmt.Errorf("told %q; records [%d,%d) are there", line, p.first, p.last)
			}
			p.first = next
		})
	}
}

func (p *peer) send(c net.Conn, at int64, done <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var until int64
		p.get(func() {
			if at == p.last && !p.stop {
				p.last += 5
			}
			until = p.last
		})
		for ; at < until; at++ {
			if _, err := fmt.Fprintf(c, "record %d %s\n", at, strings.Repeat("x", int(at*7%200))); err != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
		if _, err := c.Write(nil); err != nil { // listen has closed it
			return
		}
	}
}

// TestResumableSurvivesKills: the peer has nothing any more that it was told is
// durable, and still every record is there, once, at its position.
func TestResumableSurvivesKills(t *testing.T) {
	rnd := seed(t)
	p := &peer{address: freeAddress(t)}
	file, lake := pipeline(t, "", fmt.Sprintf(`source "socket-source" {
    config {
      cluster = "plant"
      stream  = "sensors"
      listen  = %q
      resume  = true
    }
  }`, p.address))
	done, gone := make(chan struct{}), make(chan struct{})
	go func() { defer close(gone); p.run(done) }()
	defer func() { <-gone }()
	defer close(done)
	h := torment(t, rnd, kills, "socket-source", file)
	p.get(func() { p.stop = true })
	h.Eventually("all records durable", func() (all bool) {
		p.get(func() { all = p.first == p.last || p.broken != nil })
		return all
	})
	p.get(func() {
		if p.broken != nil {
			t.Fatal(p.broken)
		}
	})
	h.Stop()
	seen := map[int64]bool{}
	for _, r := range rows(t, lake) {
		if want := fmt.Sprintf("record %d %s", r.Position, strings.Repeat("x", int(r.Position*7%200))); string(r.Value) != want || seen[r.Position] {
			t.Errorf("position %d: %.40q, there before: %t", r.Position, r.Value, seen[r.Position])
		}
		seen[r.Position] = true
	}
	if int64(len(seen)) != p.last || p.last < 1000 {
		t.Errorf("%d of %d records are there", len(seen), p.last)
	}
	t.Logf("%d records", len(seen))
}

// TestArrivalNeverReuses: without resume kills lose records, and that is all
// that they do: none is there twice, no position was given twice, and what came
// while nothing was killed is there.
func TestArrivalNeverReuses(t *testing.T) {
	rnd := seed(t)
	address := freeAddress(t)
	file, lake := pipeline(t, `accept_loss = ["socket-source"]`, fmt.Sprintf(`source "socket-source" {
    config {
      cluster = "plant"
      stream  = "sensors"
      listen  = %q
    }
  }`, address))
	done, gone := make(chan struct{}), make(chan struct{})
	sent := 0
	go func() { defer close(gone); sent = pour(address, done) }()
	h := torment(t, rnd, kills, "socket-source", file)
	close(done)
	<-gone
	// What a process receives that is about to end is lost too, so the last one
	// is sent until one of them arrives.
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	h.Eventually("the last record", func() bool {
		if c, err := net.Dial("tcp", address); err == nil {
			sent++
			fmt.Fprintf(c, "the last one, %d\n", sent)
			c.Close()
		}
		<-tick.C
		return strings.Contains(lastValue(t, lake), "the last one")
	})
	h.Stop()
	values, positions := map[string]bool{}, map[int64]bool{}
	for _, r := range rows(t, lake) {
		if values[string(r.Value)] || positions[r.Position] {
			t.Errorf("position %d, %q: there before: %t and %t", r.Position, r.Value, positions[r.Position], values[string(r.Value)])
		}
		values[string(r.Value)], positions[r.Position] = true, true
	}
	if len(values) < sent/10 || len(values) > sent {
		t.Errorf("%d of %d records are there", len(values), sent)
	}
	t.Logf("%d of %d records are there", len(values), sent)
}

// pour sends numbered records, each once, over one connection after the other.
func pour(address string, done <-chan struct{}) (sent int) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var c net.Conn
	for {
		select {
		case <-done:
			if c != nil {
				c.Close()
			}
			return sent
		case <-tick.C:
		}
		if c == nil {
			c, _ = net.Dial("tcp", address)
			continue
		}
		c.SetWriteDeadline(time.Now().Add(time.Second))
		sent++
		if _, err := fmt.Fprintf(c, "record %d\n", sent); err != nil {
			c.Close()
			c = nil
		}
	}
}

// lastValue is the value with the highest position.
func lastValue(t *testing.T, lake string) (value string) {
	var last int64 = -1
	for _, r := range rows(t, lake) {
		if r.Position > last {
			last, value = r.Position, string(r.Value)
		}
	}
	return value
}
