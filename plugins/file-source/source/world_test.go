package source

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// world is a directory in which things happen, and what has to come of it:
// every line that was written, once.
type world struct {
	t     *testing.T
	rnd   *rand.Rand
	dir   string
	h     *host
	files []*written
	made  int
	lines int
	want  map[string]bool
	// moved: a file was renamed that may not have been read to its end. The
	// source must not be closed before it was.
	moved bool
}

// written is a file that is written to. open is a line without its end.
type written struct {
	path, open string
}

// TestWorld does random things to files and to the source, 30 times over.
func TestWorld(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 4)), dir: t.TempDir(), h: newHost(t), want: map[string]bool{}}
			w.h.limits.FrameRecords = 1 + w.rnd.IntN(5)
			w.start()
			for range 60 {
				w.step()
			}
			for _, f := range w.files {
				w.finish(f)
			}
			w.caughtUp()
			w.h.close()
			w.start()
			w.caughtUp()
		})
	}
}

func (w *world) start() { w.h.open(w.dir, `,"pattern":"**/*.log*"`) }

func (w *world) step() {
	switch n := w.rnd.IntN(20); {
	case n < 3 || len(w.files) == 0:
		w.create()
	case n < 12:
		w.write(w.some())
	case n < 14:
		w.finish(w.some())
	case n < 15:
		w.rotate(w.some())
	case n < 16:
		w.replace(w.some())
	case n < 18:
		w.restart()
	default:
		w.caughtUp()
	}
}

func (w *world) some() *written { return w.files[w.rnd.IntN(len(w.files))] }

// line is a new line, without its end.
func (w *world) line() string {
	w.lines++
	return fmt.Sprintf("line %d %0*d", w.lines, w.rnd.IntN(40), 0)
}

func (w *world) create() {
	w.made++
	suffix := []string{"", "", ".gz", ".zst"}[w.rnd.IntN(4)]
	f := &written{path: filepath.Join(w.dir, fmt.Sprint(w.made%3), fmt.Sprintf("%d.log%s", w.made, suffix))}
	put(w.t, filepath.Dir(f.path), filepath.Base(f.path), "")
	w.files = append(w.files, f)
	w.write(f)
}

// write adds lines; the last one may stay without its end.
func (w *world) write(f *written) {
	text := ""
	for range 1 + w.rnd.IntN(12) {
		line := w.line()
		w.want[f.open+line] = true
		f.open = ""
		text += line + "\n"
	}
	if w.rnd.IntN(3) == 0 {
		f.open = w.line()
		text += f.open
	}
	w.add(f, text)
}

// finish ends the line that is open.
func (w *world) finish(f *written) {
	if f.open != "" {
		w.want[f.open] = true
		f.open = ""
		w.add(f, "\n")
	}
}

func (w *world) add(f *written, text string) {
	switch filepath.Ext(f.path) {
	case ".gz":
		text = gz(w.t, text)
	case ".zst":
		text = zst(w.t, text)
	}
	add(w.t, f.path, text)
}

// rotate gives a file a name that does not match, and goes on in a new one. It
// was seen under its name since the source was opened, but not to its end.
func (w *world) rotate(f *written) {
	w.write(f)
	w.finish(f)
	w.caughtUp()
	w.write(f)
	w.finish(f)
	w.made++
	if err := os.Rename(f.path, fmt.Sprintf("%s/moved.%d", filepath.Dir(f.path), w.made)); err != nil {
		w.t.Fatal(err)
	}
	w.moved = true
	put(w.t, filepath.Dir(f.path), filepath.Base(f.path), "")
	w.write(f)
}

// replace cuts a file that was read, or puts another one in its place.
func (w *world) replace(f *written) {
	w.finish(f)
	w.caughtUp()
	if w.rnd.IntN(2) == 0 {
		if err := os.Remove(f.path); err != nil {
			w.t.Fatal(err)
		}
	}
	put(w.t, filepath.Dir(f.path), filepath.Base(f.path), "")
	w.write(f)
}

// restart closes the source wherever it is.
func (w *world) restart() {
	if w.moved {
		w.caughtUp()
	}
	w.h.close()
	if w.rnd.IntN(2) == 0 {
		w.write(w.some())
	}
	w.start()
}

// caughtUp waits until all whole lines are there, and holds them against what
// was written.
func (w *world) caughtUp() {
	w.t.Helper()
	count := func() (n int) {
		for _, k := range w.h.store {
			n += len(k.rows)
		}
		return n
	}
	w.h.until(fmt.Sprintf("all of %d lines", len(w.want)), func() bool { return count() >= len(w.want) })
	w.check()
}

// check holds what came against what was written.
func (w *world) check() {
	w.t.Helper()
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	seen := map[string]bool{}
	for s, k := range w.h.store {
		for _, r := range k.rows {
			if v := string(r.Value); seen[v] || !w.want[v] {
				w.t.Fatalf("%q of %s: there before: %t, was written: %t", v, s, seen[v], w.want[v])
			} else {
				seen[v] = true
			}
		}
	}
	if w.h.failed != nil || len(w.h.gaps) > 0 {
		w.t.Fatalf("failed: %v, gaps: %v", w.h.failed, w.h.gaps)
	}
	w.moved = false
}
