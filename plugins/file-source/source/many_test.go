package source

import (
	"fmt"
	"os"
	"testing"
)

// TestManyFiles: the host carries a bounded number of streams at a time, files
// that are read are few, and a host that ends when it has caught up does not
// end before the last file.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	const files = 300
	for i := range files {
		put(t, dir, fmt.Sprintf("%02d/%05d", i%20, i), fmt.Sprintf("file %d\n", i))
	}
	h := newHost(t)
	h.mostHeld = 50
	h.open(dir, `,"pattern":"**"`)
	h.until("catching up", h.caughtUp)
	h.mu.Lock()
	rows := 0
	for _, k := range h.store {
		rows += len(k.rows)
	}
	most := h.most
	h.mu.Unlock()
	if rows != files {
		t.Errorf("the host had caught up with %d of %d records", rows, files)
	}
	if most > 50 {
		t.Errorf("%d streams at a time", most)
	}
	// A file that the host has forgotten is announced again when it grows.
	add(t, dir+"/00/00000", "more\n")
	h.await("00/00000", "file 0", "more")
}

// TestNothingDurable: with nothing durable no stream can be given up; the host
// is told about no more than it can carry, and goes on when something is.
func TestNothingDurable(t *testing.T) {
	dir := t.TempDir()
	const files = 300
	for i := range files {
		put(t, dir, fmt.Sprintf("%05d", i), "x\n")
	}
	h := newHost(t)
	h.holding, h.mostHeld = true, 50
	h.open(dir, "")
	h.until("as many streams as it carries, all read but one", func() bool {
		read := 0
		for _, r := range h.runs {
			if r.next > 0 {
				read++
			}
		}
		return len(h.runs) >= 50 && read >= 49
	})
	h.mu.Lock()
	if len(h.runs) > 50 || h.caughtUp() {
		t.Errorf("%d streams; caught up: %t", len(h.runs), h.caughtUp())
	}
	h.holding = false
	h.mu.Unlock()
	h.commitAll()
	h.until("all files", func() bool { return len(h.store) == files })
}

// TestTooManyFiles names the limit.
func TestTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 11 {
		put(t, dir, fmt.Sprint(i), "x\n")
	}
	h := newHost(t).open(dir, `,"max_files":10`)
	if err := h.awaitFailure(); err == nil || !contains(err.Error(), "max_files = 10") {
		t.Errorf("%v", err)
	}
}

// TestNoDirectory is told with its name, and may come later.
func TestNoDirectory(t *testing.T) {
	dir := t.TempDir() + "/nowhere"
	h := newHost(t).open(dir, "")
	if err := h.awaitFailure(); !contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	h.close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a", "x\n")
	h.open(dir, "")
	h.await("a", "x")
}

// TestOneFile: the path may be a file's, whatever its name.
func TestOneFile(t *testing.T) {
	path := put(t, t.TempDir(), "odd [name]*.log", "x\n")
	newHost(t).open(path, "").await("odd [name]*.log", "x")
}
