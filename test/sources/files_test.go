package sources

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

const kills = 16

// writer adds lines to files, and makes new ones, until it is stopped.
type writer struct {
	t     *testing.T
	rnd   *rand.Rand
	dir   string
	want  map[string]bool
	files []string
	open  map[string]string // a file's last line, without its end
}

func (w *writer) run(stop <-chan struct{}) {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			for _, f := range w.files {
				w.write(f, w.open[f] != "")
			}
			return
		case <-tick.C:
		}
		if len(w.files) < 4 || w.rnd.IntN(60) == 0 {
			n := len(w.files)
			w.files = append(w.files, filepath.Join(w.dir, fmt.Sprint(n%3), fmt.Sprintf("%d.log%s", n, []string{"", ".gz"}[n%4/3])))
		}
		w.write(w.files[w.rnd.IntN(len(w.files))], w.rnd.IntN(4) > 0)
	}
}

// write adds lines to a file; whole: the last one has its end.
func (w *writer) write(f string, whole bool) {
	var text bytes.Buffer
	for range 1 + w.rnd.IntN(20) {
		line := fmt.Sprintf("line %d %s", len(w.want), strings.Repeat("x", w.rnd.IntN(300)))
		w.want[w.open[f]+line] = true
		w.open[f] = ""
		text.WriteString(line + "\n")
	}
	if !whole {
		w.open[f] = fmt.Sprintf("open line %d", len(w.want))
		text.WriteString(w.open[f])
	}
	w.add(f, text.Bytes())
}

func (w *writer) add(f string, text []byte) {
	if strings.HasSuffix(f, ".gz") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(text)
		z.Close()
		text = packed.Bytes()
	}
	if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
		w.t.Error(err)
	}
	out, err := os.OpenFile(f, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer out.Close()
	if _, err := out.Write(text); err != nil {
		w.t.Error(err)
	}
}

// TestFilesSurviveKills: while lines are written to files, plain and compressed,
// host and plugins are killed again and again. Each line is there, once, in its
// file's order.
func TestFilesSurviveKills(t *testing.T) {
	rnd := seed(t)
	w := &writer{t: t, rnd: rand.New(rand.NewPCG(rnd.Uint64(), 1)), dir: t.TempDir(), want: map[string]bool{}, open: map[string]string{}}
	file, lake := pipeline(t, "", fmt.Sprintf(`source "file-source" {
    config {
      cluster       = "here"
      path          = %q
      pattern       = "**/*.log*"
      poll_interval = "20ms"
    }
  }`, w.dir))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); w.run(stop) }()
	h := torment(t, rnd, kills, "file-source", file)
	close(stop)
	<-stopped
	h.Kill()
	start(t, "--until-caught-up", file).Wait()
	w.check(lake)
}

func (w *writer) check(lake string) {
	seen := map[string]bool{}
	at := map[string]int64{}
	for _, r := range rows(w.t, lake) {
		line := string(r.Value)
		stream := r.Topic + " " + r.Incarnation
		switch last, known := at[stream]; {
		case !w.want[line]:
			w.t.Errorf("%.40q was not written", line)
		case seen[line]:
			w.t.Errorf("%.40q is there twice", line)
		case known && r.Position <= last:
			w.t.Errorf("%s: position %d comes after %d", stream, r.Position, last)
		}
		seen[line], at[stream] = true, r.Position
	}
	if len(seen) != len(w.want) {
		w.t.Errorf("%d of %d lines are there", len(seen), len(w.want))
	}
	if len(at) != len(w.files) {
		w.t.Errorf("%d streams of %d files", len(at), len(w.files))
	}
	w.t.Logf("%d lines of %d files", len(seen), len(w.files))
}
