package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

func TestFollows(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "a.log", "one\ntwo\r\n\nthr")
	h := newHost(t).open(dir, `,"pattern":"**/*.log"`)
	h.await("a.log", "one", "two\r", "")
	add(t, a, "ee\nfour\n")
	h.await("a.log", "one", "two\r", "", "three", "four")
	put(t, dir, "sub/deep/b.log", "new\n")
	h.await("sub/deep/b.log", "new")
	put(t, dir, "c.txt", "not this\n")
	put(t, dir, ".hidden.log", "nor this\n")
	put(t, dir, "d.log", "x\n")
	h.await("d.log", "x")
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.store) != 3 {
		t.Errorf("%d streams, want 3: %v", len(h.store), h.store)
	}
}

// TestRestart: what the sink has is not read again, whatever was added.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "a", "one\ntwo\n")
	h := newHost(t).open(dir, "")
	h.await("a", "one", "two")
	h.close()
	add(t, a, "three\n")
	put(t, dir, "b", "new\n")
	h.open(dir, "")
	h.await("b", "new")
	h.await("a", "one", "two", "three")
}

func (h *host) lockedStreams(topic string) []sdk.Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams(topic)
}

// sorted texts of a topic, of all its incarnations.
func (h *host) awaitAll(topic string, want ...string) {
	h.t.Helper()
	h.until(fmt.Sprintf("%q of all of %s", want, topic), func() bool {
		got := map[string]int{}
		for _, s := range h.texts(topic) {
			got[s]++
		}
		for _, s := range want {
			got[s]--
		}
		for _, n := range got {
			if n != 0 {
				return false
			}
		}
		return true
	})
}

// TestReplaced: another file under the name, in each way that there is, is
// another stream.
func TestReplaced(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir, path string){
		"cut and begun anew": func(t *testing.T, dir, path string) { put(t, dir, "a", "new 1\n") },
		"renamed over": func(t *testing.T, dir, path string) {
			if err := os.Rename(put(t, t.TempDir(), "x", "new 1\n"), path); err != nil {
				t.Fatal(err)
			}
		},
		"deleted and made again": func(t *testing.T, dir, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			put(t, dir, "a", "new 1\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := put(t, dir, "a", "old 1\nold 2\n")
			h := newHost(t).open(dir, "")
			h.await("a", "old 1", "old 2")
			replace(t, dir, path)
			h.awaitAll("a", "old 1", "old 2", "new 1")
			if got := h.lockedStreams("a"); len(got) != 2 {
				t.Errorf("streams %v, want two incarnations", got)
			}
			h.until("end of the old stream", func() bool { return len(h.runs) == 1 })
			h.close()
			h.open(dir, "")
			add(t, path, "new 2\n")
			h.awaitAll("a", "old 1", "old 2", "new 1", "new 2")
		})
	}
}

// TestRotated: what was written to a file before and after it was renamed is
// read to its end, once.
func TestRotated(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "a.log", "one\n")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := newHost(t).open(dir, `,"pattern":"*.log"`)
	h.await("a.log", "one")
	f.WriteString("two\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.log", "three\n")
	h.awaitAll("a.log", "one", "two", "three")
	h.until("end of the old stream", func() bool { return len(h.runs) == 1 })
}

// TestOneTopic: with a topic of their own, files may be renamed as they like.
func TestOneTopic(t *testing.T) {
	const settings = `,"pattern":"*","topic":"app"`
	dir := t.TempDir()
	path := put(t, dir, "a.log", "one\n")
	h := newHost(t).open(dir, settings)
	h.awaitAll("app", "one")
	if err := os.Rename(path, filepath.Join(dir, "0.log")); err != nil {
		t.Fatal(err)
	}
	add(t, filepath.Join(dir, "0.log"), "two\n")
	put(t, dir, "a.log", "three\n")
	h.awaitAll("app", "one", "two", "three")
	h.close()
	if err := os.Rename(filepath.Join(dir, "0.log"), filepath.Join(dir, "z.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "z.log"), filepath.Join(dir, "link.log")); err != nil {
		t.Fatal(err)
	}
	h.open(dir, settings)
	add(t, filepath.Join(dir, "z.log"), "four\n")
	h.awaitAll("app", "one", "two", "three", "four")
}

// TestTakenAway: what was read counts, and the stream ends.
func TestTakenAway(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "a", "one\n")
	put(t, dir, "b", "stays\n")
	h := newHost(t).open(dir, "")
	h.await("a", "one")
	h.await("b", "stays")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.until("end of the stream", func() bool { return len(h.runs) == 1 })
	put(t, dir, "a", "one\n")
	h.awaitAll("a", "one", "one")
}

// TestTakenAwayUnread says what was not read.
func TestTakenAwayUnread(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "a", strings.Repeat("0123456789\n", 100))
	h := newHost(t)
	h.credit, h.limits.FrameRecords = 1, 10
	h.open(dir, "")
	h.until("first frame", func() bool { return h.credit < 0 })
	h.mu.Lock()
	h.credit = -1 << 40
	h.mu.Unlock()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.awaitLog("bytes_not_read=990")
	h.mu.Lock()
	h.credit = 1 << 40 // the open file can still be read
	h.notify()
	h.mu.Unlock()
	h.until("end of the stream", func() bool { return len(h.runs) == 0 })
	h.until("what the open file held", func() bool { return len(h.texts("a")) == 100 })
}

// TestCutWithTheSameBeginning cannot be told from the file before: that is a
// gap, and nothing is skipped.
func TestCutWithTheSameBeginning(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "begin\nlong line of the old file\n")
	h := newHost(t).open(dir, "")
	h.await("a", "begin", "long line of the old file")
	put(t, dir, "a", "begin\nnew\n")
	h.until("gap", func() bool { return len(h.gaps) > 0 })
	if g := h.gaps[0]; g.Cause != sdk.GapOutOfRange || g.Wanted != 32 || !strings.Contains(g.Reason, filepath.Join(dir, "a")) {
		t.Errorf("gap %+v", g)
	}
}

// TestRewrittenWhileItIsRead: what is read of the new content is not taken for
// the old one's.
func TestRewrittenWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", strings.Repeat(strings.Repeat("0123456789", 20)+"\n", 5000))
	h := newHost(t)
	h.credit, h.limits.FrameRecords = 1, 10
	h.open(dir, "")
	h.until("first frame", func() bool { return h.credit < 0 })
	put(t, dir, "a", strings.Repeat(strings.Repeat("abcdefghij", 20)+"\n", 10000))
	h.mu.Lock()
	h.credit = 1 << 40
	h.notify()
	h.mu.Unlock()
	h.until("the new content", func() bool { return len(h.streams("a")) == 2 && len(h.texts("a")) > 10000 })
	h.mu.Lock()
	defer h.mu.Unlock()
	for s, k := range h.store {
		for _, r := range k.rows {
			if r.Value[0] != k.rows[0].Value[0] {
				t.Fatalf("%s has %q at %d", s, r.Value, r.Position)
			}
		}
	}
}

// streams are a topic's. The host is locked.
func (h *host) streams(topic string) (out []sdk.Stream) {
	for s := range h.store {
		if s.Topic == topic {
			out = append(out, s)
		}
	}
	return out
}

func TestPauseAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: time.Second, 100 * time.Millisecond: time.Second, time.Second: 9 * time.Second, time.Minute: 20 * time.Second,
	} {
		if got := pauseAfter(took, time.Second); got != want {
			t.Errorf("after %v a pause of %v, want %v", took, got, want)
		}
	}
}
