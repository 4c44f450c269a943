package linklog

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
)

// sums is the smallest log: commits are numbers, the state is their sum.
type sums struct{ sum int }

type number struct {
	UID        [16]byte
	N          int
	Checkpoint bool
}

func (*sums) Suffix() string             { return ".sum" }
func (*sums) Repair() string             { return "or do not" }
func (*sums) ID(n number) [16]byte       { return n.UID }
func (*sums) IsCheckpoint(n number) bool { return n.Checkpoint }
func (s *sums) Reset()                   { s.sum = 0 }

func (*sums) Read(r io.ReaderAt, size int64) (n number, err error) {
	err = json.NewDecoder(io.NewSectionReader(r, 0, size)).Decode(&n)
	return n, err
}

func (*sums) Write(w io.Writer, n number) error { return json.NewEncoder(w).Encode(n) }

func (s *sums) Apply(n number) error {
	if n.Checkpoint {
		s.sum = 0
	}
	s.sum += n.N
	return nil
}

func (s *sums) Whole() number { n := of(s.sum); n.Checkpoint = true; return n }

func of(k int) (n number) {
	n.N = k
	rand.Read(n.UID[:])
	return n
}

func open(t *testing.T, dir disk.Dir) (*Log[number], *sums) {
	t.Helper()
	s := &sums{}
	l, err := Open(context.Background(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	l.Every = 3
	return l, s
}

func add(l *Log[number], k int) error {
	return l.Append(context.Background(), func() (*Temp, number, error) { return l.Plain(of(k)) })
}

func mustAdd(t *testing.T, l *Log[number], ks ...int) {
	t.Helper()
	for _, k := range ks {
		if err := add(l, k); err != nil {
			t.Fatal(err)
		}
	}
}

// sleeper is a directory in which a process falls asleep before a link.
type sleeper struct {
	disk.Dir
	meanwhile func()
}

func (s *sleeper) Link(from, to string) error {
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return s.Dir.Link(from, to)
}

// A writer sleeps before its link until its number was used and removed: it
// takes back what it has linked.
func TestSleepingWriterTakesBackItsCommit(t *testing.T) {
	for name, first := range map[string][]int{"in a log": {1, 2}, "in an empty log": nil} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			other, _ := open(t, m.Dir())
			mustAdd(t, other, first...)
			dir := &sleeper{Dir: m.Dir()}
			l, _ := open(t, dir)
			dir.meanwhile = func() {
				mustAdd(t, other, 10, 10, 10, 10, 10, 10, 10, 10, 10)
				if err := other.Tidy(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if err := add(l, 1000); !errors.Is(err, ErrMoved) {
				t.Fatalf("a number that was used is used again: %v", err)
			}
			if l.Broken() == nil {
				t.Error("the log can still be used")
			}
			again, s := open(t, m.Dir())
			want := 90
			for _, k := range first {
				want += k
			}
			if s.sum != want {
				t.Errorf("the sum is %d, want %d", s.sum, want)
			}
			mustAdd(t, again, 1)
		})
	}
}

// A reader that slept as long as such a writer does not believe it while its
// commit is there.
func TestSleepingReaderDoesNotBelieveASleepingWriter(t *testing.T) {
	m := disk.NewMem()
	l, s := open(t, m.Dir())
	mustAdd(t, l, 1)
	other, _ := open(t, m.Dir())
	mustAdd(t, other, 2)
	second := bytes.Clone(m.Bytes(Name(2, ".sum")))
	mustAdd(t, other, 3, 4, 5, 6, 7, 8, 9)
	if err := other.Tidy(context.Background()); err != nil {
		t.Fatal(err)
	}
	if there, _ := m.Dir().Exists(Name(2, ".sum")); there {
		t.Fatal("nothing was removed")
	}
	m.Put(Name(2, ".sum"), bytes.Replace(second, []byte(`"N":2`), []byte(`"N":7000`), 1))
	err := l.Current(context.Background(), func() error { return nil })
	if !errors.Is(err, ErrMoved) || s.sum != 1 {
		t.Errorf("read on to a sum of %d: %v", s.sum, err)
	}
}

// Removal keeps what is needed, whatever is asked for.
func TestRemoveAsksForACheckpoint(t *testing.T) {
	m := disk.NewMem()
	l, _ := open(t, m.Dir())
	mustAdd(t, l, 1, 2)
	if err := l.Remove(context.Background(), 2); err == nil {
		t.Error("commits were removed that no checkpoint stands for")
	}
	mustAdd(t, l, 3, 4)
	checkpoint := l.Checkpoint()
	if err := l.Remove(context.Background(), checkpoint); err != nil {
		t.Fatal(err)
	}
	m.PowerCut(func(string) bool { return false })
	again, s := open(t, m.Dir())
	if s.sum != 10 {
		t.Errorf("the sum is %d", s.sum)
	}
	if _, err := again.ReadCommit(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("commit 1 is there after it was removed: %v", err)
	}
}

// Removal that is cut short, at any step, leaves a log.
func TestRemovalCutShort(t *testing.T) {
	for step := range 30 {
		for _, keep := range []bool{true, false} {
			m := disk.NewMem()
			l, _ := open(t, m.Dir())
			mustAdd(t, l, 1, 2, 3, 4, 5, 6, 7)
			checkpoint := l.Checkpoint()
			n := step
			m.Fail = func(string, string) error {
				if n--; n < 0 {
					return disk.ErrKilled
				}
				return nil
			}
			err := l.Remove(context.Background(), checkpoint)
			m.Fail = nil
			if n >= 0 {
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			m.PowerCut(func(what string) bool { return keep == strings.HasSuffix(what, "2.sum") })
			again, s := open(t, m.Dir())
			if s.sum != 28 {
				t.Fatalf("step %d: the sum is %d", step, s.sum)
			}
			if err := again.Remove(context.Background(), checkpoint); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			mustAdd(t, again, 1)
		}
	}
	t.Error("there are more steps than were tried")
}

func TestNumber(t *testing.T) {
	for name, want := range map[string]uint64{"000000000007.sum": 7, "1234567890123.sum": 1234567890123, "readme.sum": 0, "000000000007.other": 0, ".sum": 0} {
		if n, ok, err := Number(name, ".sum"); err != nil || n != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v, %v", name, n, ok, err)
		}
	}
	for _, name := range []string{"7.sum", "000000000000.sum", "99999999999999999999.sum"} {
		if _, _, err := Number(name, ".sum"); err == nil || !strings.Contains(err.Error(), "move it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
