package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// root is where files are looked for.
type root struct {
	dir     string
	pattern pattern
}

// newRoot takes a path that may be a file's.
func newRoot(set *Settings) root {
	if info, err := os.Stat(set.Path); err == nil && !info.IsDir() {
		dir, name := filepath.Split(set.Path)
		return root{dir: filepath.Clean(dir), pattern: pattern{escape(name)}}
	}
	return root{dir: set.Path, pattern: newPattern(set.Pattern)}
}

// escape makes a pattern that matches one name.
func escape(name string) string {
	var out []byte
	for i := range len(name) {
		switch name[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, name[i])
	}
	return string(out)
}

func (r root) join(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// walk calls found for every regular file that matches, or that a matching
// link leads to, in the order of names. Directories that vanish meanwhile are
// left out; linked ones are not entered.
func (r root) walk(ctx context.Context, found func(name string, s seen) error) error {
	return r.walkDir(ctx, "", found)
}

func (r root) walkDir(ctx context.Context, dir string, found func(string, seen) error) error {
	entries, err := os.ReadDir(r.join(dir))
	if err != nil {
		if dir != "" && os.IsNotExist(err) {
			return nil
		}
		return fmt.Errorf("list files: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && r.pattern.dir(name):
			err = r.walkDir(ctx, name, found)
		case !e.IsDir() && r.pattern.file(name):
			err = r.visit(name, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r root) visit(name string, found func(string, seen) error) error {
	info, err := os.Stat(r.join(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil // it has just gone, a link leads nowhere, or it is no file
	}
	return found(name, seenAs(info))
}

func seenAs(info fs.FileInfo) seen {
	s := seen{size: info.Size(), mtime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s
}
