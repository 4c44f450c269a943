package split

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"
)

// all splits a whole content, given in pieces that grow by step bytes.
func all(t testing.TB, s Splitter, content []byte, step int) (records []string, rest []byte) {
	t.Helper()
	for lo, hi := 0, 0; ; {
		r, ok := s.Next(content[lo:hi])
		if !ok {
			if hi == len(content) {
				return records, content[lo:]
			}
			hi = min(hi+step, len(content))
			continue
		}
		if r.Len <= 0 || r.Len > hi-lo || len(r.Value) >= r.Len || content[lo+r.Len-1] != '\n' {
			t.Fatalf("record %q takes %d of %q", r.Value, r.Len, content[lo:hi])
		}
		if !r.Skip {
			records = append(records, string(r.Value))
		}
		lo += r.Len
	}
}

func TestSplitters(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       Splitter
		content string
		want    []string
		rest    string
	}{
		{"lines", Lines{}, "a\nb\r\n\n\nc", []string{"a", "b\r", "", ""}, "c"},
		{"no blank lines", Lines{SkipBlank: true}, "a\n \t\r\n\nb\n", []string{"a", "b"}, ""},
		{"nothing", Lines{}, "", nil, ""},
		{"csv", CSV{','}, "a,b\r\nc\n\r\n\nd,\"e\nf\"\n", []string{"a,b", "c", "d,\"e\nf\""}, ""},
		{"doubled quotes", CSV{','}, "\"a\"\"\nb\",\"\"\n\"\"\"\"\n", []string{"\"a\"\"\nb\",\"\"", `""""`}, ""},
		{"a quote inside of a field", CSV{','}, "5\" disk,x\ny\n", []string{`5" disk,x`, "y"}, ""},
		{"an open quote", CSV{','}, "a\n\"b\nc\n", []string{"a"}, "\"b\nc\n"},
		{"text behind quotes", CSV{';'}, "\"a\"b;c\nd\n", []string{`"a"b;c`, "d"}, ""},
	} {
		for _, step := range []int{1, 2, 3, 7, 1000} {
			got, rest := all(t, c.s, []byte(c.content), step)
			if !slices.Equal(got, c.want) || string(rest) != c.rest {
				t.Errorf("%s by %d bytes: %q and %q, want %q and %q", c.name, step, got, rest, c.want, c.rest)
			}
		}
	}
}

func TestLast(t *testing.T) {
	for _, c := range []struct {
		s       Splitter
		content string
		want    string
		ok      bool
	}{
		{Lines{}, "abc\r", "abc\r", true},
		{CSV{','}, "a,\"b\nc\"", "a,\"b\nc\"", true},
		{CSV{','}, "a,b\r", "a,b", true},
		{CSV{','}, "a,\"b", "", false},
	} {
		if r, ok := c.s.Last([]byte(c.content)); ok != c.ok || ok && (string(r.Value) != c.want || r.Len != len(c.content)) {
			t.Errorf("%q: %q, %d bytes, %t", c.content, r.Value, r.Len, ok)
		}
	}
}

func TestFields(t *testing.T) {
	for record, want := range map[string][]string{
		"":                    {""},
		"a,b,":                {"a", "b", ""},
		`"a,b",c`:             {"a,b", "c"},
		"\"a\nb\"\"c\"\"\",d": {"a\nb\"c\"", "d"},
		`"a"b,"c`:             {"ab", "c"},
		`"`:                   {""},
		`,""`:                 {"", ""},
	} {
		var got []string
		for _, f := range (CSV{','}).Fields(nil, []byte(record)) {
			got = append(got, string(f))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", record, got, want)
		}
	}
}

// FuzzLines: no byte is lost, whatever the pieces are that it comes in.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\r\n\nb"), 3)
	f.Fuzz(func(t *testing.T, content []byte, step int) {
		got, rest := all(t, Lines{}, content, max(1, step&15))
		whole := strings.Join(append(got, string(rest)), "\n")
		if whole != string(content) {
			t.Fatalf("%q became %q and %q", content, got, rest)
		}
	})
}

// FuzzCSV: the pieces in which a file comes make no difference, every byte
// belongs to a record, and what a strict reader accepts is read as it says.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\nc,d\n", "\"a\n\"\"\",b\r\n\n", "a\"b,\"\n", "\"\"x,\"y\"\n", ",\n\"\"\n"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, content []byte, step int) {
		c := CSV{','}
		got, rest := all(t, c, content, max(1, step&15))
		again, _ := all(t, c, content, len(content)+1)
		if !slices.Equal(got, again) {
			t.Fatalf("in pieces: %q, at once: %q", got, again)
		}
		for _, r := range got {
			c.Fields(nil, []byte(r))
		}
		if r, ok := c.Last(rest); ok && r.Len != len(rest) {
			t.Fatalf("of %q the last record has %d bytes", rest, r.Len)
		}
		compareStrict(t, content, got, rest)
	})
}

// compareStrict holds what was split against encoding/csv, which takes away
// carriage returns inside of fields and is strict about quotes.
func compareStrict(t *testing.T, content []byte, got []string, rest []byte) {
	if len(rest) > 0 || bytes.ContainsRune(content, '\r') {
		return
	}
	strict := csv.NewReader(bytes.NewReader(content))
	strict.FieldsPerRecord = -1
	want, err := strict.ReadAll()
	if err != nil && err != io.EOF {
		return
	}
	if len(want) != len(got) {
		t.Fatalf("%q: %d records, want %d", content, len(got), len(want))
	}
	for i, r := range got {
		var fields []string
		for _, f := range (CSV{','}).Fields(nil, []byte(r)) {
			fields = append(fields, string(f))
		}
		if !slices.Equal(fields, want[i]) {
			t.Fatalf("record %q has fields %q, want %q", r, fields, want[i])
		}
	}
}
