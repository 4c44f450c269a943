package plugins

import (
	"bytes"
	"log/slog"
	"testing"
)

func TestPluginsLinesKeepTheirLevel(t *testing.T) {
	var b bytes.Buffer
	h := newHclog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	h.Error("go-plugin's own chatter")
	h.Named("twg-plugin-x").Warn("slow broker", "addr", "a:1", "timestamp", "now", "n", 3)
	if got, want := b.String(), "level=WARN msg=\"slow broker\" addr=a:1 n=3\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	tl := &tail{}
	for range 3 * tailLines {
		tl.Write([]byte("old\n"))
	}
	tl.Write([]byte("{\"@level\":\"error\",\"@message\":\"disk full\",\"path\":\"/x\"}\npani"))
	tl.Write([]byte("c: no\n\n"))
	tl.Write(bytes.Repeat([]byte("x"), 10*tailLineSize))
	got := tl.String()
	if n := bytes.Count([]byte(got), []byte("\n")); n != tailLines {
		t.Errorf("%d lines", n)
	}
	for _, w := range []string{"\n  stderr: error: disk full path=/x\n", "\n  stderr: panic: no\n"} {
		if !bytes.Contains([]byte(got), []byte(w)) {
			t.Errorf("lacks %q: %s", w, got)
		}
	}
	if len(got) > 2*tailLineSize+tailLines*20 {
		t.Errorf("a line that never ends takes %d bytes", len(got))
	}
}
