package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prefix begins the name of every plugin's file.
const Prefix = "twg-plugin-"

// File is a plugin's program.
type File struct {
	// Name is the file's name without Prefix.
	Name string
	Path string
}

// Discover returns the plugins in dirs, by name: executable regular files (or
// links to such) whose names begin with Prefix. A directory that does not
// exist, and two files of one name, are errors.
func Discover(dirs []string) ([]File, error) {
	var all []File
	for _, dir := range dirs {
		found, err := discoverIn(dir)
		if err != nil {
			return nil, err
		}
		if all, err = merge(all, found); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func discoverIn(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("search plugin directory: %w", err)
	}
	var out []File
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), Prefix)
		path := filepath.Join(dir, e.Name())
		if ok && name != "" && executable(path) {
			out = append(out, File{name, path})
		}
	}
	return out, nil
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// merge adds files whose names are new. One file that is reached by two paths
// is one plugin.
func merge(all, found []File) ([]File, error) {
	for _, f := range found {
		i := slices.IndexFunc(all, func(o File) bool { return o.Name == f.Name })
		switch {
		case i < 0:
			all = append(all, f)
		case !sameFile(all[i].Path, f.Path):
			return nil, fmt.Errorf("find plugins: %s and %s are two plugins of one name; remove one of them", all[i].Path, f.Path)
		}
	}
	return all, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// NotFoundError says that no plugin has the name that was asked for.
type NotFoundError struct {
	Name string
	Dirs []string
	// Have are the names of the plugins that are there.
	Have []string
}

func (e *NotFoundError) Error() string {
	have := "there is no plugin at all"
	if len(e.Have) > 0 {
		have = "there are: " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("find plugin %s: no executable file %s%s in %s; %s", e.Name, Prefix, e.Name, strings.Join(e.Dirs, ", "), have)
}

// Find returns the plugin of a name; a *NotFoundError if there is none.
func Find(dirs []string, name string) (File, error) {
	all, err := Discover(dirs)
	if err != nil {
		return File{}, err
	}
	missing := &NotFoundError{Name: name, Dirs: dirs}
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
		missing.Have = append(missing.Have, f.Name)
	}
	return File{}, missing
}
