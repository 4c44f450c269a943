//go:build services

package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory is brought back to an older state, beside a host that runs and
// beside one that does not: an alarm, and all that is gone is read again.
func TestDirectoryRolledBack(t *testing.T) {
	for name, running := range map[string]bool{"while it runs": true, "while it is stopped": false} {
		t.Run(name, func(t *testing.T) {
			d := directory(filepath.Join(t.TempDir(), "lake"))
			p := newTopic(t, fake(t).ListenAddrs(), "orders")
			p.produce("a", 100)
			h := run(t, p, d, nil)
			h.untilCommitted(100)
			backup := d.copyOf(t)
			p.produce("b", 100)
			h.untilCommitted(200)
			if !running {
				h.stop()
			}
			must(t, os.Rename(string(d), string(d)+".lost"))
			must(t, os.Rename(string(backup), string(d)))
			if !running {
				h = run(t, p, d, nil)
			}
			p.produce("c", 50)
			h.untilCommitted(250)
			h.stop()
			all := append(append(words("a", 100), words("b", 100)...), words("c", 50)...)
			want(t, d, onlyIncarnation(t, d), 0, all...)
			if text := h.log.String(); !strings.Contains(text, "ALARM") || !strings.Contains(text, "is ahead of what the sink holds (100)") {
				t.Errorf("no alarm, or of something else:\n%s", text)
			}
		})
	}
}

// A file that was cut short, or of whose footer a bit has changed, is refused
// by name: the pipeline halts, and commits nothing.
func TestDamagedDirectoryHalts(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":     func(b []byte) []byte { return nil },
		"a bit":     func(b []byte) []byte { b[len(b)-60] ^= 1; return b },
		"a span":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"next":100`), []byte(`"next":900`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			d := directory(filepath.Join(t.TempDir(), "lake"))
			p := newTopic(t, fake(t).ListenAddrs(), "orders")
			p.produce("a", 100)
			h := run(t, p, d, nil)
			h.untilCommitted(100)
			h.stop()
			p.produce("b", 100)
			files := d.files(t)
			last := files[len(files)-1]
			b, err := os.ReadFile(last)
			must(t, err)
			hurt := damage(bytes.Clone(b))
			if bytes.Equal(hurt, b) {
				t.Fatal("no damage was done")
			}
			must(t, os.WriteFile(last, hurt, 0o600))
			err = run(t, p, d, nil).ended()
			if err == nil || !strings.Contains(err.Error(), filepath.Base(last)) {
				t.Errorf("%v, want it refused, and %s named", err, filepath.Base(last))
			}
			if at, _ := p.committed(); at != 100 {
				t.Errorf("committed %d", at)
			}
		})
	}
}
