package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

// identify finds out which file lies at a place.
func (s *scanner) identify(name string, p *place) error {
	p.tries++
	path := s.root.join(name)
	incarnation, err := s.incarnation(path, name, p)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && incarnation == "":
		return nil
	case err != nil:
		p.tries = maxTries
		return s.badPlace(path, notReadable(path, 0, err))
	}
	id := s.stream(name, incarnation)
	if f := s.table.of(id); f != nil {
		s.moved(path, p, f)
		return nil
	}
	p.file = &file{stream: id, as: name, path: path, seen: p.seen, since: p.since}
	s.table.add(p.file)
	return nil
}

// maxTries: once when it looks new, once when nobody is taken to write to it
// any more.
const maxTries = 2

func (s *scanner) incarnation(path, name string, p *place) (string, error) {
	if !utf8.ValidString(name) {
		return "", &damage{path: path, err: errors.New("its name is not UTF-8")}
	}
	in, err := content.Open(path, name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	complete := s.quiet(p.since) && (!s.set.Follow || s.set.LastLine == "deliver" || in.Compressed())
	return incarnationOf(in, s.layout.headLines(), complete)
}

// badPlace says that a file cannot be read at all.
func (s *scanner) badPlace(path string, err error) error {
	if _, bad := errors.AsType[*damage](err); !bad {
		return err
	}
	if s.set.OnBadFile == "skip" {
		s.log.Error("a file is left out; it is tried again when it changes", "file", path, "error", err)
		return nil
	}
	return fatal(err)
}

// stream is a file's stream.
func (r *reader) stream(name, incarnation string) sdk.Stream {
	topic := r.set.Topic
	if topic == "" {
		topic = filepath.ToSlash(name)
	}
	return sdk.Stream{Cluster: r.set.Cluster, Topic: topic, Incarnation: incarnation}
}

// moved: a file that is known lies at another place now, or is there again.
// One that is at both places (a link) stays where it was.
func (s *scanner) moved(path string, p *place, f *file) {
	if f.path != path && !s.table.isGone(f) {
		if info, err := os.Stat(f.path); err == nil && seenAs(info).inode == p.seen.inode {
			p.tries = maxTries
			return
		}
	}
	p.file = f
	s.table.changedAt(f, path, p.seen)
}

// left: a file is no longer at the place where it was. If it was only renamed,
// it is read to its end where it is now.
func (s *scanner) left(name string, f *file) {
	if f.path != s.root.join(name) {
		return // that is known
	}
	if path, now, ok := s.find(f); ok {
		s.table.elsewhere(f, path, now)
		s.log.Info("a file was renamed; it is read to its end", "file", name, "now", path)
		return
	}
	next := s.table.lose(f)
	if left := f.seen.size - next; left > 0 && !content.Compressed(f.as) {
		s.log.Warn("a file was taken away, replaced or cut before it was read to its end", "file", name, "position", next, "bytes_not_read", left)
		return
	}
	s.log.Info("a file is no longer there, or is another one now", "file", name, "position", next)
}

// find looks for a file under another name in its directory.
func (s *scanner) find(f *file) (path string, now seen, ok bool) {
	dir := filepath.Dir(f.path)
	if s.inodes[dir] == nil {
		s.inodes[dir] = inodesOf(dir)
	}
	path, ok = s.inodes[dir][f.seen.inode]
	if !ok || path == f.path {
		return "", seen{}, false
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", seen{}, false
	}
	now = seenAs(info)
	return path, now, now.inode == f.seen.inode
}

// inodesOf are the regular files of a directory.
func inodesOf(dir string) map[uint64]string {
	out := map[uint64]string{}
	entries, _ := os.ReadDir(dir) // if it cannot be read, nothing is found there
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			out[seenAs(info).inode] = filepath.Join(dir, e.Name())
		}
	}
	return out
}
