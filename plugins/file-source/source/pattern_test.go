package source

import (
	"path"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, no  string
		dirs, nd string // directories that can, and cannot, hold what matches
	}{
		{"*", "a a.log", ".a a/b", "", "a"},
		{"*.log", "a.log", "a.log.gz b/a.log .a.log", "", "b"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c b/b/c", "a a/b", "b a/b/c"},
		{"**", "a a/b a/b/c", ".a a/.b/c", "a a/b", ".a a/.b"},
		{"**/*.log", "a.log x/a.log x/y/a.log", "a x/.a.log .x/a.log", "x x/y", ".x"},
		{"a/**/z", "a/z a/b/z a/b/c/z", "z a/b a/z/y", "a a/b", "b"},
		{"**/**/z", "z a/z a/b/z", "a", "a", ""},
		{".*", ".a", "a", "", "a"},
		{"[ab]?", "a1 b2", "a c1", "", "a1"},
	} {
		p := newPattern(c.pattern)
		for _, name := range strings.Fields(c.yes) {
			if !p.file(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.no) {
			if p.file(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.dirs) {
			if !p.dir(name) {
				t.Errorf("nothing that matches %s is looked for in %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.nd) {
			if p.dir(name) {
				t.Errorf("what matches %s is looked for in %s", c.pattern, name)
			}
		}
	}
}

// FuzzPattern: where a file matches, its directories are entered.
func FuzzPattern(f *testing.F) {
	f.Add("a/**/*.log", "a/b/c.log")
	f.Add("**", "x/y")
	f.Add("[a-", "b")
	f.Fuzz(func(t *testing.T, text, name string) {
		if badPattern(text) != "" || strings.Count(text, "/") > 6 || strings.Count(name, "/") > 6 {
			return
		}
		p := newPattern(text)
		if !p.file(name) {
			return
		}
		for dir := path.Dir(name); dir != "." && dir != "/" && path.Clean(name) == name; dir = path.Dir(dir) {
			if !p.dir(dir) {
				t.Fatalf("%q matches %q, but %q is not entered", text, name, dir)
			}
		}
	})
}

// FuzzPointer: no document and no pointer is harm.
func FuzzPointer(f *testing.F) {
	f.Add("/a/0", `{"a":["x"]}`)
	f.Add("id", `{"id":1}`)
	f.Add("/~1", `{"/":null}`)
	f.Fuzz(func(t *testing.T, at, doc string) {
		if badPointer(at) {
			return
		}
		newPointer(at).find([]byte(doc))
	})
}

func TestPointer(t *testing.T) {
	const doc = ` {"id":"x","a":{"b":[10,{"c":"d"}]},"/":1,"~":true,"n":null,"e":""} `
	for at, want := range map[string]string{"id": "x", "/id": "x", "/a/b/0": "10", "/a/b/1/c": "d", "/~1": "1", "/~0": "true", "a": `{"b":[10,{"c":"d"}]}`} {
		if got := newPointer(at).find([]byte(doc)); string(got) != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
	for _, at := range []string{"n", "no", "/a/b/7", "/a/b/x", "/id/x"} {
		if got := newPointer(at).find([]byte(doc)); got != nil {
			t.Errorf("%s: %q, want none", at, got)
		}
	}
	if got := newPointer("e").find([]byte(doc)); got == nil || len(got) != 0 {
		t.Errorf("an empty string: %v", got)
	}
}
