// Package deptest keeps the rules of the house: who may import whom, and how
// large a file and a function may be. It is imported by nothing; its tests
// read the source of the whole module.
package deptest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const module = "github.com/twg-io/twg"

// file is one Go file of the module, whatever its build tags.
type file struct {
	name      string // from the module's root, with slashes
	pkg       string // its package's path from the root: "sdk/frame"
	test      bool
	generated bool
	imports   []string // those of the module from the root: "./sdk/frame"
	tags      constraint.Expr
	lines     int
	fset      *token.FileSet
	ast       *ast.File
}

// load parses every Go file below root but those of testdata and of hidden
// folders.
func load(root string) ([]*file, error) {
	var out []*file
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); base == "testdata" || base == "bin" || name != "." && base[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		f, err := parse(name, src)
		out = append(out, f)
		return err
	})
	return out, err
}

func parse(name string, src []byte) (*file, error) {
	f := &file{
		name: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
		lines: bytes.Count(src, []byte("\n")), fset: token.NewFileSet(),
	}
	var err error
	if f.ast, err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	f.generated = ast.IsGenerated(f.ast)
	for _, spec := range f.ast.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("parse %s: import %s: %w", name, spec.Path.Value, err)
		}
		if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
			imp = "./" + rest
		}
		f.imports = append(f.imports, imp)
	}
	f.tags, err = buildTags(f.ast)
	return f, err
}

func buildTags(f *ast.File) (constraint.Expr, error) {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return constraint.Parse(c.Text)
			}
		}
	}
	return nil, nil
}
