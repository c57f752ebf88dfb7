package repo

import (
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the surface files anew")

// TestSurface compares what the public packages export with the files in
// testdata/surface: nothing becomes a promise, and no promise is broken,
// without a line of the change showing it.
func TestSurface(t *testing.T) {
	const dir = "testdata/surface"
	got := surfaces(t, tree())
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for name, text := range got {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}

	want := map[string]string{}
	golden := os.DirFS(dir)
	for _, name := range files(t, golden) {
		want[name] = read(t, golden, name)
		if _, ok := got[name]; !ok {
			t.Errorf("%s/%s: no such package", dir, name)
		}
	}
	for name, text := range got {
		if text != want[name] {
			t.Errorf("%s/%s differs; if it is meant, run go test ./internal/repo -update. Now:\n%s", dir, name, text)
		}
	}
}

// surfaces returns the exported declarations of each public package, without
// comments and bodies, sorted, by the name of the file that records them.
func surfaces(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range packages(t, tree) {
		if !p.public() {
			continue
		}
		name := p.dir
		if name == "." {
			name = path.Base(root)
		}
		all[name+".txt"] = surface(t, p)
	}
	return all
}

func surface(t *testing.T, p pkg) string {
	t.Helper()
	d, err := doc.NewFromFiles(p.fset, p.files, path.Join(root, p.dir))
	if err != nil {
		t.Fatal(err)
	}
	values := slices.Concat(d.Consts, d.Vars)
	funcs := slices.Clone(d.Funcs)
	var decls []ast.Decl
	for _, typ := range d.Types {
		decls = append(decls, typ.Decl)
		values = slices.Concat(values, typ.Consts, typ.Vars)
		funcs = slices.Concat(funcs, typ.Funcs, typ.Methods)
	}
	for _, v := range values {
		decls = append(decls, v.Decl)
	}
	for _, f := range funcs {
		decls = append(decls, f.Decl)
	}

	texts := []string{}
	for _, decl := range decls {
		bare(decl)
		var b strings.Builder
		if err := format.Node(&b, p.fset, decl); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, plain(b.String()))
	}
	slices.Sort(texts)
	return strings.Join(texts, "")
}

// plain removes the blank lines and the alignment, which follow the comments.
func plain(decl string) string {
	var b strings.Builder
	for line := range strings.Lines(decl) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		b.WriteString(line[:len(line)-len(strings.TrimLeft(line, "\t"))])
		b.WriteString(strings.Join(words, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// bare removes the comments and the bodies.
func bare(decl ast.Decl) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc, n.Body = nil, nil
		case *ast.FuncLit:
			n.Body = &ast.BlockStmt{}
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}

func TestSurfaces(t *testing.T) {
	got := surfaces(t, plant(map[string]string{
		"go.mod": "module " + root + "\n",
		"b.go": `package semel

// T is a type.
type T struct {
	// A is a field.
	A int // really

	// Longer is aligned and set apart in the source.
	Longer int
	b int
}

// M is a method.
func (t *T) M(n int) error { return nil }

func (t *T) m() {}

type hidden int

// Now can be replaced.
var Now = func() int { return 1 }
`,
		"a.go": `package semel

// S is a state.
type S uint8

// The states.
const (
	Free S = iota // nobody
	Held
)

// New makes one.
func New() *T { return nil }

// Store is the seam.
type Store interface {
	// Get gets.
	Get(id string) (S, error)
}
`,
		"a_test.go":              "package semel\n\nfunc Exported() {}\n",
		"flight/f.go":            "package flight\n\nfunc Do[K comparable](key K) {}\n",
		"internal/x/x.go":        "package x\n\nfunc X() {}\n",
		"cmd/semel/go.mod":       "module " + root + "/cmd/semel\n",
		"cmd/semel/main.go":      "package main\n\nfunc Main() {}\n",
		"redisstore/go.mod":      "module " + root + "/redisstore\n",
		"redisstore/store.go":    "package redisstore\n\nfunc Open() {}\n",
		"examples/go.mod":        "module " + root + "/examples\n",
		"examples/lib/lib.go":    "package lib\n\nfunc Lib() {}\n",
		"flight/testdata/bad.go": "package bad\n\nfunc Bad() {}\n",
	}))
	want := map[string]string{
		"semel.txt": `const (
	Free S = iota
	Held
)
func (t *T) M(n int) error
func New() *T
type S uint8
type Store interface {
	Get(id string) (S, error)
}
type T struct {
	A int
	Longer int
	// contains filtered or unexported fields
}
var Now = func() int {}
`,
		"flight.txt":     "func Do[K comparable](key K)\n",
		"redisstore.txt": "func Open()\n",
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d packages, want %d: %v", len(got), len(want), got)
	}
}
