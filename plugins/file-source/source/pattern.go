package source

import (
	"path"
	"slices"
	"strings"
)

// badPattern says what is wrong with a pattern; empty: nothing.
func badPattern(p string) string {
	for _, part := range strings.Split(p, "/") {
		switch _, err := path.Match(part, ""); {
		case err != nil:
			return "A bracket is not closed, or a backslash stands at the end."
		case part == "" || part == "." || part == "..":
			return "It is matched with paths below the directory: it neither begins nor ends with a slash, and has no . or .. in it."
		}
	}
	return ""
}

// pattern is a pattern's parts between slashes.
type pattern []string

func newPattern(p string) pattern { return strings.Split(p, "/") }

// file reports whether a file's path from the root matches.
func (p pattern) file(name string) bool { return match(p, strings.Split(name, "/"), false) }

// dir reports whether files below a directory can match.
func (p pattern) dir(name string) bool { return match(p, strings.Split(name, "/"), true) }

// match compares part by part. prefix: it is enough if name can be the
// beginning of what matches. A name that begins with a dot is hidden: only a
// part that begins with one matches it.
func match(p, name []string, prefix bool) bool {
	for len(name) > 0 {
		if len(p) == 0 {
			return false
		}
		if p[0] == "**" {
			return matchAnyDepth(p, name, prefix)
		}
		ok, _ := path.Match(p[0], name[0])
		if !ok || hidden(name[0]) && !hidden(p[0]) {
			return false
		}
		p, name = p[1:], name[1:]
	}
	return prefix == (len(p) > 0)
}

// matchAnyDepth: ** stands for any number of directories, none too; as the
// last part it stands for what is below, to any depth.
func matchAnyDepth(p, name []string, prefix bool) bool {
	for len(p) > 1 && p[1] == "**" {
		p = p[1:]
	}
	if len(p) == 1 || prefix {
		return !slices.ContainsFunc(name, hidden)
	}
	for i := range name {
		if match(p[1:], name[i:], prefix) {
			return true
		}
		if hidden(name[i]) {
			return false
		}
	}
	return false
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
