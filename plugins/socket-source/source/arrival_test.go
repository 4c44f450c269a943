package source

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// TestPeers: records of all peers have one numbering, and each one's keep
// their order.
func TestPeers(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t).open(`"listen":%q`, address)
	for i := range 3 {
		c := dial(t, "tcp", address)
		go func() {
			for j := range 200 {
				fmt.Fprintf(c, "%d %d\n", i, j)
			}
			c.Close()
		}()
	}
	h.until("all records", func() bool { return len(h.rows) == 600 })
	var next [3]int
	for _, r := range h.rows {
		var i, j int
		if _, err := fmt.Sscan(r, &i, &j); err != nil || next[i] != j {
			t.Fatalf("%q came where %d of it was next", r, next[i])
		}
		next[i]++
	}
}

// TestHostSaysWhere: the numbering goes on where the host says, and what came
// while there was no run is kept.
func TestHostSaysWhere(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t)
	h.hold = true
	h.open(`"listen":%q`, address)
	c := dial(t, "tcp", address)
	c.send("early\n")
	h.until("assignment", func() bool { return h.assigned == 1 })
	h.start(1000)
	h.await("early")
	h.drop()
	c.send("while there is no run\n")
	h.start(5000)
	h.await("early", "while there is no run")
	if h.next != 5001 {
		t.Errorf("the run is at %d", h.next)
	}
}

// TestDropWhileItWaits: records that wait for credit when their run ends come
// once, under the next one.
func TestDropWhileItWaits(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t)
	h.limits.FrameRecords = 2
	h.credit = 1
	h.open(`"listen":%q`, address)
	c := dial(t, "tcp", address)
	c.send("1\n2\n3\n4\n5\n6\n")
	h.until("waiting for credit", func() bool { return h.waiting > 0 && h.credit <= 0 })
	h.drop()
	h.start(100)
	h.set(func() { h.credit = 1 << 40 })
	h.await("1", "2", "3", "4", "5", "6")
}

// TestBackpressure: without credit nothing is read, and a peer cannot write for
// ever.
func TestBackpressure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	h := newHost(t)
	h.credit = 1
	h.open(`"listen":"unix:%s"`, path)
	c := dial(t, "unix", path)
	line := strings.Repeat("x", 1000) + "\n"
	c.SetWriteDeadline(time.Now().Add(time.Second))
	sent := 0
	for {
		if _, err := c.Write([]byte(line)); err != nil {
			break
		}
		if sent++; sent > 20000 {
			t.Fatal("20 MB were taken without credit")
		}
	}
	if h.until("first frame", func() bool { return len(h.rows) > 0 }); len(h.rows) >= sent {
		t.Errorf("%d of %d records came for one byte of credit", len(h.rows), sent)
	}
	h.set(func() { h.credit = 1 << 40 })
	h.until("what was written", func() bool { return len(h.rows) >= sent })
}

// TestBadPeers are cut off; the others and the source go on.
func TestBadPeers(t *testing.T) {
	for name, c := range map[string]struct{ settings, good, rest, log string }{
		"a line too long":      {"", "good\n", strings.Repeat("x", 100), "the limit is 10"},
		"a length too large":   {`,"framing":"length"`, "\x00\x00\x00\x04good", "\x7f\xff\xff\xff", "2147483647 bytes or more"},
		"an idle one":          {`,"idle_timeout":"50ms"`, "good\n", "", "idle_timeout"},
		"an end in mid-record": {"", "good\n", "half a", "6 bytes were there"},
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			h := newHost(t).open(`"listen":%q,"max_frame_bytes":10`+c.settings, address)
			bad := dial(t, "tcp", address)
			bad.send(c.good + c.rest)
			if strings.Contains(name, "mid") {
				bad.Close()
			} else {
				bad.expectEnd()
			}
			h.await("good")
			h.awaitLog(c.log)
			dial(t, "tcp", address).send(c.good)
			h.await("good", "good")
			if h.failed != nil {
				t.Error(h.failed)
			}
		})
	}
}

// TestSeats: no more peers than there are seats; the next one has its turn when
// one leaves.
func TestSeats(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t).open(`"listen":%q,"max_connections":1`, address)
	first := dial(t, "tcp", address)
	first.send("1\n")
	h.await("1")
	second := dial(t, "tcp", address) // by the operating system
	second.send("3\n")
	first.send("2\n")
	h.await("1", "2")
	first.Close()
	h.await("1", "2", "3")
}

// TestUnixSocket has its permissions, and one that was left by a process that
// was killed is replaced; a file is not.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	h := newHost(t).open(`"listen":"unix:%s","unix_mode":"0640"`, path)
	dial(t, "unix", path).send("x\n")
	h.await("x")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	other := newHost(t).open(`"listen":"unix:%s","listen_timeout":"0s"`, path)
	other.until("refusal of a second source", func() bool { return other.failed != nil })
	h.close()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	h.open(`"listen":"unix:%s","listen_timeout":"0s"`, path)
	dial(t, "unix", path).send("y\n")
	h.await("x", "y")
	h.close()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.open(`"listen":"unix:%s","listen_timeout":"0s"`, path)
	h.until("refusal to replace a file", func() bool { return h.failed != nil })
}

// TestAddressTaken is waited for, and named.
func TestAddressTaken(t *testing.T) {
	address := freeAddress(t)
	first := newHost(t).open(`"listen":%q`, address)
	first.until("assignment", func() bool { return first.assigned == 1 })
	second := newHost(t).open(`"listen":%q,"listen_timeout":"200ms"`, address)
	second.until("failure", func() bool { return second.failed != nil })
	if sdk.KindOf(second.failed) != sdk.KindRetryable || !strings.Contains(second.failed.Error(), address) {
		t.Errorf("%v", second.failed)
	}
	third := newHost(t).open(`"listen":%q`, address)
	first.close()
	third.until("assignment", func() bool { return third.assigned == 1 })
}
