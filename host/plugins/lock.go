package plugins

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
	"strings"

	"github.com/twg-io/twg/sdk"
)

// Lock has the SHA-256 digest of each plugin that may run. A nil Lock allows
// every plugin.
type Lock struct {
	path    string
	digests map[string]string // by plugin name
}

// NewLock takes the digests of files.
func NewLock(files []File) (*Lock, error) {
	l := &Lock{digests: map[string]string{}}
	for _, f := range files {
		r, err := os.Open(f.Path)
		if err != nil {
			return nil, fmt.Errorf("lock plugin %s: %w", f.Name, err)
		}
		l.digests[f.Name], err = digest(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("lock plugin %s: %w", f.Name, err)
		}
	}
	return l, nil
}

// ReadLock reads a lock file. One that does not exist is no lock: nil.
func ReadLock(path string) (*Lock, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	defer f.Close()
	l := &Lock{path: path, digests: map[string]string{}}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		sum, name, ok := strings.Cut(text, "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("read lock file %s:%d: a line is a SHA-256 digest, two spaces and a plugin's name; run \"twg plugins lock\" again", path, n)
		}
		l.digests[name] = sum
	}
	return l, lines.Err()
}

// WriteTo writes the lock file's text: what sha256sum would print, with
// plugins' names in place of paths.
func (l *Lock) WriteTo(w io.Writer) (int64, error) {
	text := "# SHA-256 of the plugins that twg may run. Made by \"twg plugins lock\".\n"
	for _, name := range l.names() {
		text += l.digests[name] + "  " + name + "\n"
	}
	n, err := io.WriteString(w, text)
	return int64(n), err
}

func (l *Lock) names() []string {
	var names []string
	for n := range l.digests {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Verify checks one plugin's file.
func (l *Lock) Verify(f File) error {
	p, err := l.open(f)
	if err == nil {
		p.close()
	}
	return err
}

// program is what will be executed.
type program struct {
	path string
	file *os.File // keeps path valid; nil: path is a plain one
}

func (p *program) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// open checks a plugin against the lock and returns how to execute the very
// file that was checked: by its descriptor, where the system can, so that a
// file that is put in its place meanwhile is not run. (One that is changed in
// place between check and start would be; keep plugin directories unwritable.)
func (l *Lock) open(f File) (*program, error) {
	if l == nil {
		return &program{path: f.Path}, nil
	}
	want, ok := l.digests[f.Name]
	if !ok {
		return nil, l.refuse(f, "it is not in the lock file; run \"twg plugins lock\" if it may run")
	}
	r, err := os.Open(f.Path)
	if err != nil {
		return nil, l.refuse(f, err.Error())
	}
	got, err := digest(r)
	if err != nil || got != want {
		r.Close()
		return nil, l.refuse(f, fmt.Sprintf("its SHA-256 is %s, the lock file says %s; run \"twg plugins lock\" if the change is right", got, want))
	}
	if runtime.GOOS != "linux" || isScript(r) {
		r.Close()
		return &program{path: f.Path}, nil
	}
	return &program{path: fmt.Sprintf("/proc/self/fd/%d", r.Fd()), file: r}, nil
}

func (l *Lock) refuse(f File, why string) error {
	return &sdk.Error{Op: "verify plugin " + f.Path + " against lock file " + l.path, Kind: sdk.KindFatal, Scope: sdk.ScopePlugin, Err: errors.New(why)}
}

// isScript: an interpreter opens its script anew, by its path.
func isScript(r io.ReaderAt) bool {
	var b [2]byte
	n, _ := r.ReadAt(b[:], 0)
	return n == 2 && string(b[:]) == "#!"
}

func digest(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
