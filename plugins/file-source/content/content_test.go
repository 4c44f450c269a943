package content

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func pack(t testing.TB, suffix string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch suffix {
	case ".gz":
		w := gzip.NewWriter(&b)
		w.Write(content)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case ".zst":
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	default:
		b.Write(content)
	}
	return b.Bytes()
}

func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestSeek(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30000)
	for _, suffix := range []string{"", ".gz", ".zst"} {
		r := open(t, put(t, "a"+suffix, pack(t, suffix, content)))
		for _, at := range []int64{0, 299990, 5, 5, 123456, 300000} {
			if err := r.SeekTo(t.Context(), at); err != nil || r.Position() != at {
				t.Fatalf("%q: seek to %d: %v, at %d", suffix, at, err, r.Position())
			}
			got, err := io.ReadAll(io.LimitReader(r, 10))
			if err != nil || !bytes.Equal(got, content[at:min(at+10, 300000)]) {
				t.Fatalf("%q: at %d: %q, %v", suffix, at, got, err)
			}
		}
		if err := r.SeekTo(t.Context(), 300001); !errors.Is(err, ErrShort) {
			t.Errorf("%q: beyond the end: %v", suffix, err)
		}
	}
}

func TestSeekIsCancelled(t *testing.T) {
	r := open(t, put(t, "a.gz", pack(t, ".gz", make([]byte, 1<<20))))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.SeekTo(ctx, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestCut: at every length a content that breaks off is told from one that is
// whole, and from damage.
func TestCut(t *testing.T) {
	for _, suffix := range []string{".gz", ".zst"} {
		packed := pack(t, suffix, []byte("one\ntwo\nthree\n"))
		for n := range len(packed) + 1 {
			got, err := io.ReadAll(open(t, put(t, "a"+suffix, packed[:n])))
			switch whole := n == 0 || n == len(packed); {
			case whole && err != nil, !whole && !errors.Is(err, ErrCut):
				t.Errorf("%s: %d of %d bytes: %v", suffix, n, len(packed), err)
			case n == len(packed) && string(got) != "one\ntwo\nthree\n":
				t.Errorf("%s: %q", suffix, got)
			}
		}
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "x.gz"), "x.gz"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// fuzz expands anything: it ends, with an error that is known, and the same
// bytes come out again after a seek.
func fuzz(f *testing.F, suffix string) {
	f.Add(pack(f, suffix, []byte("some\ncontent\n")))
	f.Add(append(pack(f, suffix, []byte("a")), pack(f, suffix, []byte("b"))...))
	f.Add([]byte("nonsense"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, packed []byte) {
		path := filepath.Join(dir, "a"+suffix)
		if err := os.WriteFile(path, packed, 0o644); err != nil {
			t.Fatal(err)
		}
		r := open(t, path)
		const most = 1 << 20
		first, err := io.ReadAll(io.LimitReader(r, most))
		if err != nil && !errors.Is(err, ErrCut) && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if err := r.SeekTo(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if second, _ := io.ReadAll(io.LimitReader(r, most)); !bytes.Equal(first, second) {
			t.Fatalf("%d bytes, then %d", len(first), len(second))
		}
	})
}

func FuzzGzip(f *testing.F) { fuzz(f, ".gz") }
func FuzzZstd(f *testing.F) { fuzz(f, ".zst") }
