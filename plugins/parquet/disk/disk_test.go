package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// layers are all file layers, each on an empty directory. again opens the
// directory as another process would, the first still running.
func layers(t *testing.T) map[string]struct{ first, again Dir } {
	local := func(path string) Dir {
		d, err := Local(path, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	a, b := filepath.Join(t.TempDir(), "x", "y"), filepath.Join(t.TempDir(), "z")
	m := NewMem()
	return map[string]struct{ first, again Dir }{
		"local":  {local(a), local(a)},
		"memory": {m.Dir(), m.Dir()},
		"lossy":  {newLossy(local(b), false), local(b)},
	}
}

func write(t *testing.T, d Dir, name, content string) File {
	t.Helper()
	f, err := d.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t *testing.T, d Dir, name string) string {
	t.Helper()
	r, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLayersAgree(t *testing.T) {
	for name, l := range layers(t) {
		t.Run(name, func(t *testing.T) {
			f := write(t, l.first, "temp", "hello")
			if err := l.first.Link("temp", "final"); err != nil {
				t.Fatal(err)
			}
			if err := l.first.Link("temp", "final"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("link to a name that exists: %v", err)
			}
			if _, err := l.first.Create("final"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("create a name that exists: %v", err)
			}
			if _, err := l.first.Open("nothing"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("open nothing: %v", err)
			}
			if err := l.first.Remove("temp"); err != nil {
				t.Fatal(err)
			}
			if there, err := l.first.Exists("temp"); there || err != nil {
				t.Errorf("a removed name: %v, %v", there, err)
			}
			if err := l.first.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got := content(t, l.again, "final"); got != "hello" {
				t.Errorf("another process reads %q", got)
			}
			if names, err := l.again.List(); err != nil || !slices.Equal(names, []string{"final"}) {
				t.Errorf("another process sees %v, %v", names, err)
			}
			r, err := l.first.Open("final")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if n, err := r.ReadAt(make([]byte, 10), 3); n != 2 || err != io.EOF {
				t.Errorf("read past the end: %d, %v", n, err)
			}
		})
	}
}

func TestRemoveStaleSparesTheLiving(t *testing.T) {
	for name, l := range layers(t) {
		t.Run(name, func(t *testing.T) {
			if name == "lossy" {
				return // what is not synced is not in the directory
			}
			f := write(t, l.first, "temp", "x")
			if gone, err := l.again.RemoveStale("temp"); gone || err != nil {
				t.Errorf("removed under its writer: %v, %v", gone, err)
			}
			f.Close()
			if gone, err := l.again.RemoveStale("temp"); !gone || err != nil {
				t.Errorf("not removed: %v, %v", gone, err)
			}
			if gone, err := l.again.RemoveStale("temp"); gone || err != nil {
				t.Errorf("removed twice: %v, %v", gone, err)
			}
		})
	}
}

func TestLossyForgetsWhatWasNotSynced(t *testing.T) {
	for name, c := range map[string]struct {
		lazy bool
		want []string
	}{
		"honest": {false, []string{"one", "two"}},
		"mutant": {true, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			d, err := Local(path, false)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			l := newLossy(d, c.lazy)
			for _, name := range []string{"one", "two"} {
				write(t, l, name, name)
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
			}
			got, err := d.List() // what a new process would see
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("left %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestMemPowerCut(t *testing.T) {
	for name, c := range map[string]struct {
		keep bool
		want map[string]string
	}{
		"nothing survives":    {false, map[string]string{"a": "a"}},
		"everything survives": {true, map[string]string{"b": "b", "half": "unsynced"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMem()
			d := m.Dir()
			write(t, d, "a", "a")
			d.Sync()
			write(t, d, "b", "b")
			d.Remove("a")
			f, _ := d.Create("half")
			f.Write([]byte("unsynced"))
			m.PowerCut(func(string) bool { return c.keep })
			if err := d.Sync(); err == nil {
				t.Error("a process outlived the power")
			}
			names, _ := m.Dir().List()
			if len(names) != len(c.want) {
				t.Errorf("left %v", names)
			}
			for name, want := range c.want {
				if got := string(m.Bytes(name)); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestMemFailedSyncStaysFailed(t *testing.T) {
	m := NewMem()
	d := m.Dir()
	f, _ := d.Create("f")
	f.Write([]byte("x"))
	m.Fail = func(op, _ string) error {
		if op == "sync" || op == "syncdir" {
			return syscall.EIO
		}
		return nil
	}
	if f.Sync() == nil || d.Sync() == nil {
		t.Fatal("no error")
	}
	m.Fail = nil
	if f.Sync() != nil || d.Sync() != nil {
		t.Fatal("the second call reports an error")
	}
	m.PowerCut(func(string) bool { return false })
	if names, _ := m.Dir().List(); len(names) != 0 {
		t.Errorf("a second fsync made %v durable", names)
	}
}

func TestLocalRefusesWhatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{false, true} {
		if _, err := Local(file, create); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("create %v: %v", create, err)
		}
	}
	if _, err := Local(filepath.Join(filepath.Dir(file), "missing"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// An fsync of a directory in whose place another one is now proves nothing.
func TestLocalNoticesThatItWasReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	d, err := Local(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("moved away: %v", err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); err == nil {
		t.Error("replaced by another directory, and synced")
	}
}

// A cleaner may meet a file between its creation and its lock.
func TestCreateBesideRemoveStale(t *testing.T) {
	d, err := Local(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				names, _ := d.List()
				for _, name := range names {
					if strings.HasPrefix(name, "temp") {
						d.RemoveStale(name)
					}
				}
			}
		}
	}()
	made := 0
	for i := range 2000 {
		temp := fmt.Sprint("temp", i)
		f, err := d.Create(temp)
		if err != nil {
			continue // the cleaner came first
		}
		made++
		if err := d.Link(temp, "final"); err != nil {
			t.Fatalf("the file was made and locked, and is gone: %v", err)
		}
		d.Remove(temp)
		d.Remove("final")
		f.Close()
	}
	close(stop)
	<-done
	if made < 100 {
		t.Errorf("%d of 2000 files were made", made)
	}
}
