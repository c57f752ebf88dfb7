package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	root       = "github.com/semel-dev/semel"
	unreleased = "v0.0.0-00010101000000-000000000000"
)

// tree is the content of the repository; the tests of the rules plant others.
func tree() fs.FS { return os.DirFS("../..") }

// files returns every file that belongs to the repository: what .gitignore
// names is left out.
func files(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "bin" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git":
			// A directory in a clone, a file in a worktree.
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && path.Ext(name) != ".test" && path.Ext(name) != ".prof":
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, tree fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// module is what the rules need to know of a go.mod.
type module struct {
	dir      string
	path     string
	requires map[string]string // path to version
	replaces map[string]string // path to what stands for it
}

// private reports that nobody outside can require the module.
func (m module) private() bool {
	return strings.HasPrefix(m.dir, "internal/") || m.dir == "examples"
}

// modules returns every module of the tree, by directory.
func modules(t *testing.T, tree fs.FS) []module {
	t.Helper()
	var all []module
	for _, name := range files(t, tree) {
		if path.Base(name) != "go.mod" {
			continue
		}
		m := module{dir: path.Dir(name), requires: map[string]string{}, replaces: map[string]string{}}
		for _, words := range directives(read(t, tree, name)) {
			switch words[0] {
			case "module":
				m.path = words[1]
			case "require":
				m.requires[words[1]] = words[2]
			case "replace":
				arrow := slices.Index(words, "=>")
				m.replaces[words[1]] = strings.Join(words[arrow+1:], " ")
			}
		}
		all = append(all, m)
	}
	return all
}

// directives returns the lines of a go.mod or go.work in words, with the verb
// of a block repeated on each of its lines.
func directives(text string) [][]string {
	var all [][]string
	var block string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case block != "":
			all = append(all, append([]string{block}, words...))
		default:
			all = append(all, words)
		}
	}
	return all
}

// owner returns the module a file belongs to: the one with the longest path.
func owner(all []module, name string) module {
	var m module
	for _, candidate := range all {
		inside := candidate.dir == "." || strings.HasPrefix(name, candidate.dir+"/")
		if inside && len(candidate.path) > len(m.path) {
			m = candidate
		}
	}
	return m
}

// pkg is a package without its tests.
type pkg struct {
	module module
	dir    string
	fset   *token.FileSet
	files  []*ast.File
}

// name returns what its files call the package.
func (p pkg) name() string { return p.files[0].Name.Name }

// public reports that users can import the package.
func (p pkg) public() bool {
	return !p.module.private() && p.name() != "main" && !slices.Contains(strings.Split(p.dir, "/"), "internal")
}

// packages returns every package of the tree, by directory.
func packages(t *testing.T, tree fs.FS) []pkg {
	t.Helper()
	all := modules(t, tree)
	byDir := map[string]int{}
	var found []pkg
	for _, name := range files(t, tree) {
		dir := path.Dir(name)
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || slices.Contains(strings.Split(dir, "/"), "testdata") {
			continue
		}
		i, ok := byDir[dir]
		if !ok {
			i = len(found)
			byDir[dir] = i
			found = append(found, pkg{module: owner(all, name), dir: dir, fset: token.NewFileSet()})
		}
		p := &found[i]
		file, err := parser.ParseFile(p.fset, name, read(t, tree, name), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	return found
}

// report fails the test once for each problem.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}
