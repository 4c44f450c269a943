package source

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

func TestResume(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t)
	h.hold = true
	h.open(`"listen":%q,"resume":true`, address)
	c := dial(t, "tcp", address)
	h.until("assignment", func() bool { return h.assigned == 1 })
	h.start(100)
	c.expect("RESUME s 100")
	c.send("OK 100 ACK\none\ntwo\n")
	h.await("one", "two")
	h.commit(101) // the second is not durable yet
	c.expect("DURABLE 101")
	h.commit(102)
	c.expect("DURABLE 102")
	c.send("three, cut off")
	c.Close()
	c = dial(t, "tcp", address)
	c.expect("RESUME s 102")
	c.send("OK 102\nthree\n")
	h.await("one", "two", "three")
	h.start(101) // the host had to go back
	c.expectEnd()
	c = dial(t, "tcp", address)
	c.expect("RESUME s 101")
	c.send("OK 101\ntwo\n")
	h.await("one", "two", "three", "two")
}

// TestResumeWithLengths: the handshake is lines, what follows is frames.
func TestResumeWithLengths(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t).open(`"listen":%q,"resume":true,"framing":"length"`, address)
	c := dial(t, "tcp", address)
	c.expect("RESUME s 0")
	c.send("OK 0\n" + string(binary.BigEndian.AppendUint32(nil, 3)) + "a\nb")
	h.await("a\nb")
}

// TestPeerWithoutTheRecord: a peer that goes on elsewhere is a gap, whichever
// side of the position it is on. The host decides.
func TestPeerWithoutTheRecord(t *testing.T) {
	for _, at := range []string{"0", "120"} {
		address := freeAddress(t)
		h := newHost(t)
		h.next = 100
		h.open(`"listen":%q,"resume":true`, address)
		c := dial(t, "tcp", address)
		c.expect("RESUME s 100")
		c.send("OK " + at + "\nx\n")
		c.expectEnd()
		h.until("gap", func() bool { return len(h.gaps) == 1 })
		g := h.gaps[0]
		if g.Wanted != 100 || g.Run != h.run.Run || g.Cause != sdk.GapOutOfRange || (g.Available == 0) != (at == "0") || len(h.rows) > 0 {
			t.Errorf("gap %+v, rows %q", g, h.rows)
		}
		h.start(120)
		c = dial(t, "tcp", address)
		c.expect("RESUME s 120")
		c.send("OK 120\nx\n")
		h.await("x")
	}
}

// TestBadAnswers end the connection, not the source.
func TestBadAnswers(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t).open(`"listen":%q,"resume":true,"handshake_timeout":"100ms"`, address)
	for _, text := range []string{"", "OK\n", "OK x\n", "OK -1\n", "OK 0 NACK\n", "HELLO 0\n", "OK 281474976710656\n", strings.Repeat("x", 100)} {
		c := dial(t, "tcp", address)
		c.expect("RESUME s 0")
		c.send(text)
		c.expectEnd()
	}
	c := dial(t, "tcp", address)
	c.expect("RESUME s 0")
	c.send("OK 0\r\nx\n")
	h.await("x")
	if h.failed != nil || len(h.gaps) > 0 {
		t.Errorf("failed: %v, gaps: %v", h.failed, h.gaps)
	}
}

// TestNewestSpeaks: a new peer replaces one that is silent, also one that waits
// for credit.
func TestNewestSpeaks(t *testing.T) {
	address := freeAddress(t)
	h := newHost(t)
	h.limits.FrameRecords, h.credit = 1, 1
	h.open(`"listen":%q,"resume":true`, address)
	old := dial(t, "tcp", address)
	old.expect("RESUME s 0")
	old.send("OK 0\none\ntwo\n")
	h.until("waiting for credit", func() bool { return len(h.rows) == 1 && h.waiting > 0 })
	c := dial(t, "tcp", address)
	c.expect("RESUME s 1")
	old.expectEnd()
	h.set(func() { h.credit = 1 << 40 })
	c.send("OK 1\ntwo again\n")
	h.await("one", "two again")
}

// FuzzAnswer: no answer is harm.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"OK 1", "OK 1 ACK", "OK 0\r", "OK", "", "OK 9999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		a, err := parseAnswer(line)
		if err == nil && (a.position < 0 || a.position >= sdk.MaxPosition || !strings.HasPrefix(line, "OK ")) {
			t.Fatalf("%q became %+v", line, a)
		}
	})
}
