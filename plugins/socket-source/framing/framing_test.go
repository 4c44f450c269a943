package framing

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// all decodes what comes in pieces of step bytes.
func all(d Decoder, b []byte, step int) (records []string, rest []byte, err error) {
	lo, hi := 0, 0
	for {
		r, n, err := d.Next(b[lo:hi])
		switch {
		case err != nil:
			return records, b[lo:], err
		case n > 0:
			records = append(records, string(r))
			lo += n
		case hi == len(b):
			return records, b[lo:], nil
		default:
			hi = min(hi+step, len(b))
		}
	}
}

func framed(records ...string) (out []byte) {
	for _, r := range records {
		out = binary.BigEndian.AppendUint32(out, uint32(len(r)))
		out = append(out, r...)
	}
	return out
}

func TestDecoders(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     Decoder
		in    string
		want  []string
		rest  string
		large int64
	}{
		{"lines", Lines{5}, "a\n\nb\r\n12345\nrest", []string{"a", "", "b\r", "12345"}, "rest", 0},
		{"a line too long", Lines{5}, "a\n123456\n", []string{"a"}, "123456\n", 6},
		{"a line without end", Lines{5}, "123456", nil, "123456", 6},
		{"length", Length{5}, string(framed("a", "", "\n\x00", "12345")) + "\x00", []string{"a", "", "\n\x00", "12345"}, "\x00", 0},
		{"a length too large", Length{5}, string(framed("a", "123456")), []string{"a"}, string(framed("123456")), 6},
		{"the largest length", Length{5}, "\xff\xff\xff\xff", nil, "\xff\xff\xff\xff", 1<<32 - 1},
	} {
		for _, step := range []int{1, 2, 3, 100} {
			got, rest, err := all(c.d, []byte(c.in), step)
			var large *TooLargeError
			if !slices.Equal(got, c.want) || string(rest) != c.rest || errors.As(err, &large) != (c.large > 0) || large != nil && step == 1 && large.Bytes != c.large {
				t.Errorf("%s by %d: %q, rest %q, %v", c.name, step, got, rest, err)
			}
		}
	}
}

// fuzz: pieces make no difference to what is decoded, and no record passes the
// limit.
func fuzz(f *testing.F, d Decoder, most int) {
	f.Add([]byte("a\nb\n\n"), 1)
	f.Add(framed("a", "bc"), 3)
	f.Fuzz(func(t *testing.T, b []byte, step int) {
		got, rest, err := all(d, b, max(1, step&15))
		again, restAgain, errAgain := all(d, b, len(b)+1)
		if !slices.Equal(got, again) || string(rest) != string(restAgain) || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q %q %v, at once %q %q %v", got, rest, err, again, restAgain, errAgain)
		}
		size := len(rest)
		for _, r := range got {
			if len(r) > most {
				t.Fatalf("a record of %d bytes", len(r))
			}
			size += len(r)
		}
		if err == nil && size > len(b) {
			t.Fatalf("%d bytes became %d", len(b), size)
		}
	})
}

func FuzzLines(f *testing.F)  { fuzz(f, Lines{16}, 16) }
func FuzzLength(f *testing.F) { fuzz(f, Length{16}, 16) }
