package source

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/twg-io/twg/sdk"
)

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zst(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

// TestCompressed: positions are those of the content, and reading goes on at
// any of them, in members that are added too.
func TestCompressed(t *testing.T) {
	for suffix, pack := range map[string]func(testing.TB, string) string{".gz": gz, ".zst": zst} {
		t.Run(suffix, func(t *testing.T) {
			dir := t.TempDir()
			path := put(t, dir, "a"+suffix, pack(t, "one\ntwo\n"))
			h := newHost(t).open(dir, "")
			h.await("a"+suffix, "one", "two")
			h.close()
			add(t, path, pack(t, "three\n"))
			h.open(dir, "")
			h.await("a"+suffix, "one", "two", "three")
			add(t, path, pack(t, "four\nlast line"))
			h.await("a"+suffix, "one", "two", "three", "four")
			for s, k := range h.store {
				if k.rows[3].Position != 14 || k.next != 19 {
					t.Errorf("%s: the fourth record is at %d, the next at %d", s, k.rows[3].Position, k.next)
				}
			}
		})
	}
}

// TestCompressedLastLine: a compressed file that nobody writes to is complete.
func TestCompressedLastLine(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.gz", gz(t, "one\ntwo"))
	put(t, dir, "b.gz", gz(t, "only"))
	put(t, dir, "c", "one\ntwo")
	h := newHost(t).open(dir, `,"quiet_after":"50ms"`)
	h.await("a.gz", "one", "two")
	h.await("b.gz", "only")
	h.await("c", "one")
}

// TestCutArchive is waited for while it may grow, and is an error that names
// file and position when it does not; what was before it was delivered.
func TestCutArchive(t *testing.T) {
	whole := zst(t, strings.Repeat("a line that is here to be compressed\n", 20000))
	dir := t.TempDir()
	path := put(t, dir, "a.zst", whole[:len(whole)/2])
	h := newHost(t).open(dir, `,"quiet_after":"1h"`)
	add(t, path, whole[len(whole)/2:])
	h.until("all lines", func() bool { return len(h.texts("a.zst")) == 20000 })
	h.close()

	put(t, dir, "b.gz", gz(t, "one\ntwo\n")[:25])
	h.open(dir, `,"quiet_after":"50ms"`)
	err := h.awaitFailure()
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), filepath.Join(dir, "b.gz")+": at position ") || !strings.Contains(err.Error(), "breaks off") {
		t.Errorf("kind %s: %v", sdk.KindOf(err), err)
	}
}

// TestBadFiles: each is an error, or is left and the others are read.
func TestBadFiles(t *testing.T) {
	damaged := []byte(zst(t, strings.Repeat("some line\n", 50000)))
	for i := len(damaged) / 2; i < len(damaged); i++ {
		damaged[i] ^= 0x55
	}
	for name, c := range map[string]struct{ file, text, settings, want string }{
		"no gzip at all":      {"a.gz", "plain text\n", "", "position 0"},
		"a damaged middle":    {"a.zst", string(damaged), "", "damaged"},
		"no such column":      {"a.csv", "x,y\n1,2\n", `,"format":"csv","key":"id"`, `no column "id"`},
		"two columns alike":   {"a.csv", "x,x\n1,2\n", `,"format":"csv","csv_as":"json"`, `two columns "x"`},
		"a quote never ends":  {"a.csv", "x\n\"1\n2\n3\n", `,"format":"csv","follow":false`, "position 2: a quote"},
		"a header never ends": {"a.csv", "\"x\n1\n2\n", `,"format":"csv"`, "has no end"},
		"not UTF-8 in JSON":   {"a.csv", "x\n\xff\n", `,"format":"csv","csv_as":"json"`, "position 2: the record is not UTF-8"},
		"a name in Latin-1":   {"caf\xe9", "x\n", "", "name is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.file, c.text)
			h := newHost(t).open(dir, c.settings)
			err := h.awaitFailure()
			if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join(dir, c.file)) {
				t.Errorf("kind %s: %v", sdk.KindOf(err), err)
			}
			h.close()
			put(t, dir, "zz", "id,y\nthe,good\nfile,here\n")
			h.open(dir, `,"on_bad_file":"skip"`+c.settings)
			h.until("the good file", func() bool { return len(h.texts("zz")) > 0 })
			h.until("an end", h.caughtUp)
			h.awaitLog("level=ERROR")
		})
	}
}

// TestRepaired: a file that was left is read when it changes.
func TestRepaired(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "a.gz", "this is no gzip at all\n")
	h := newHost(t).open(dir, `,"on_bad_file":"skip"`)
	h.awaitLog("left out")
	if err := os.WriteFile(path, []byte(gz(t, "one\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	h.await("a.gz", "one")
}

// TestTooLong: a record beyond the limit stops the source and is named; with a
// larger limit reading goes on there.
func TestTooLong(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 3<<20)
	put(t, dir, "a", "one\n"+long+"\ntwo\n")
	h := newHost(t)
	h.limits.MaxRecordBytes = 1 << 20
	h.open(dir, "")
	err := h.awaitFailure()
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), filepath.Join(dir, "a")+": at position 4: ") || !strings.Contains(err.Error(), "max_record_bytes") {
		t.Errorf("kind %s: %v", sdk.KindOf(err), err)
	}
	h.close()
	h.limits.MaxRecordBytes = 4 << 20
	h.open(dir, "")
	h.await("a", "one", long, "two")
}

func TestLastLine(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "one\ntwo")
	h := newHost(t).open(dir, `,"last_line":"deliver","quiet_after":"100ms"`)
	h.await("a", "one", "two")
	h.close()
	put(t, dir, "b", "only")
	h.open(dir, `,"follow":false`)
	h.await("b", "only")
	h.until("end", h.caughtUp)
}

// TestNotFollowed: what is there at the start is read once, and ends.
func TestNotFollowed(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t).open(dir, `,"follow":false`)
	if err := h.awaitFailure(); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "none matches") {
		t.Errorf("of an empty directory: %v", err)
	}
	h.close()
	put(t, dir, "a", "one\ntwo")
	put(t, dir, "b.gz", gz(t, "three\n"))
	put(t, dir, "empty", "")
	h.open(dir, `,"follow":false`)
	h.until("end", func() bool { return len(h.ended) == 2 && h.caughtUp() })
	h.await("a", "one", "two")
	h.await("b.gz", "three")
}

func TestNDJSON(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "\xef\xbb\xbf{\"id\":\"a\"}\n \r\n\n{\"id\": 7, \"x\":1 }\n{\"id\":null}\n{}\nno json\n{\"id\":{\"b\":[1]}}\n")
	h := newHost(t).open(dir, `,"format":"ndjson","key":"id"`)
	h.await("a", "\xef\xbb\xbf{\"id\":\"a\"}", `{"id": 7, "x":1 }`, `{"id":null}`, `{}`, `no json`, `{"id":{"b":[1]}}`)
	h.awaitKeys("a", "a", "7", "(null)", "(null)", "(null)", `{"b":[1]}`)
}

// awaitKeys waits for a topic's keys.
func (h *host) awaitKeys(topic string, want ...string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for s, k := range h.store {
		for i, r := range k.rows {
			got := string(r.Key)
			if r.Key == nil {
				got = "(null)"
			}
			if s.Topic == topic && got != want[i] {
				h.t.Errorf("row %d has key %s, want %s", i, got, want[i])
			}
		}
	}
}

const quoted = "id,text\r\n1,\"two\nlines, and a \"\"quote\"\"\"\r\n\r\n2,plain\r\n3\r\n4,x,more\n"

func TestCSVRaw(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.csv", quoted)
	h := newHost(t).open(dir, `,"format":"csv","key":"id"`)
	h.await("a.csv", "1,\"two\nlines, and a \"\"quote\"\"\"", "2,plain", "3", "4,x,more")
	h.awaitKeys("a.csv", "1", "2", "3", "4")
	for _, k := range h.store {
		for _, r := range k.rows {
			if len(r.Headers) != 1 || r.Headers[0].Name != "columns" || string(r.Headers[0].Value) != "id,text" {
				t.Errorf("headers %v", r.Headers)
			}
		}
		if k.rows[0].Position != 9 || k.next != int64(len(quoted)) {
			t.Errorf("the first record is at %d, the end at %d", k.rows[0].Position, k.next)
		}
	}
}

// TestCSVResumes: the header is known in the middle of a file too.
func TestCSVResumes(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "a.csv.gz", gz(t, quoted))
	h := newHost(t).open(dir, `,"format":"csv","csv_as":"json"`)
	want := []string{`{"id":"1","text":"two\nlines, and a \"quote\""}`, `{"id":"2","text":"plain"}`, `{"id":"3"}`, `{"id":"4","text":"x","column_3":"more"}`}
	h.await("a.csv.gz", want...)
	h.close()
	add(t, path, gz(t, "5,<&>\n"))
	h.open(dir, `,"format":"csv","csv_as":"json"`)
	h.await("a.csv.gz", append(want, `{"id":"5","text":"<&>"}`)...)
}

func TestCSVWithoutHeader(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "1;x\n2;\"y;z\"\n")
	h := newHost(t).open(dir, `,"format":"csv","header":false,"key":"2","delimiter":";"`)
	h.await("a", "1;x", "2;\"y;z\"")
	h.awaitKeys("a", "x", "y;z")
}
