package disk

import (
	"bytes"
	"io"
	"slices"
	"testing"
)

// dirs are two processes' views of a directory, in memory and on a real disk.
func dirs(t *testing.T) map[string][2]Dir {
	t.Helper()
	m := NewMem()
	out := map[string][2]Dir{"memory": {m.Dir(), m.Dir()}}
	path := t.TempDir()
	var local [2]Dir
	for i := range local {
		d, err := Local(path, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		local[i] = d
	}
	out["disk"] = local
	return out
}

func TestLockHasOneHolderAndANote(t *testing.T) {
	for name, d := range dirs(t) {
		t.Run(name, func(t *testing.T) {
			first, holder, err := d[0].Lock("x.lock", []byte("the first, with a long note"))
			if first == nil || holder != nil || err != nil {
				t.Fatalf("%v, %q, %v", first, holder, err)
			}
			lock, holder, err := d[1].Lock("x.lock", []byte("the second"))
			if lock != nil || string(holder) != "the first, with a long note" || err != nil {
				t.Fatalf("taken twice: %v, %q, %v", lock, holder, err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second, _, err := d[1].Lock("x.lock", []byte("the second"))
			if second == nil || err != nil {
				t.Fatalf("%v, %v", second, err)
			}
			defer second.Close()
			if _, holder, _ := d[0].Lock("x.lock", nil); string(holder) != "the second" {
				t.Errorf("note %q", holder)
			}
		})
	}
}

func TestSubIsADirectoryOfItsOwn(t *testing.T) {
	for name, d := range dirs(t) {
		t.Run(name, func(t *testing.T) {
			sub, err := d[0].Sub("sub")
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			put(t, sub, "a", "in sub")
			put(t, d[0], "b", "above")
			other, err := d[1].Sub("sub")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if names, err := other.List(); err != nil || !slices.Equal(names, []string{"a"}) {
				t.Errorf("in sub: %v, %v", names, err)
			}
			if names, err := d[1].List(); err != nil || slices.Contains(names, "a") || !slices.Contains(names, "b") {
				t.Errorf("above: %v, %v", names, err)
			}
			if r, err := other.Open("a"); err != nil {
				t.Error(err)
			} else if got, _ := io.ReadAll(io.NewSectionReader(r, 0, r.Size())); !bytes.Equal(got, []byte("in sub")) {
				t.Errorf("%q", got)
			}
		})
	}
}

// A Sync is of one directory: names in another are not durable by it.
func TestSyncIsOfOneDirectory(t *testing.T) {
	m := NewMem()
	d := m.Dir()
	sub, _ := d.Sub("sub")
	put(t, sub, "a", "x")
	put(t, d, "b", "x")
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	m.PowerCut(func(string) bool { return false })
	if m.Bytes("sub/a") != nil || m.Bytes("b") == nil {
		t.Error("the directory above was synced, and the other is")
	}
	sub, _ = m.Dir().Sub("sub")
	put(t, sub, "c", "x")
	if err := sub.Sync(); err != nil {
		t.Fatal(err)
	}
	m.PowerCut(func(string) bool { return false })
	if m.Bytes("sub/c") == nil || m.Bytes("b") == nil {
		t.Error("what was synced is gone")
	}
}

func put(t *testing.T, d Dir, name, text string) {
	t.Helper()
	f, err := d.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}
