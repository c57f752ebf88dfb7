// Package compilefail holds the compiler to what must not build. A misuse is a
// complete Go file; each line of it that must be refused ends in a comment
//
//	// ERROR "part of the message"
//
// and every other line must be accepted, so that a file cannot fail for the
// wrong reason.
package compilefail

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var wanted = regexp.MustCompile(`// ERROR "(.*)"$`)

// Run type-checks each file that matches pattern as a program of its own, in a
// subtest, and compares the compiler's complaints with the file's comments.
// Files are read by themselves and may import whatever the calling package's
// module can. No file at all is an error.
func Run(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %q (%v)", pattern, err)
	}
	fset := token.NewFileSet()
	imports, err := importerFor(fset, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go"), func(t *testing.T) {
			problems, err := check(fset, imports, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Error(p)
			}
		})
	}
}

// importerFor returns an importer of everything that files import, from what
// the go command has built.
func importerFor(fset *token.FileSet, files []string) (types.Importer, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, file := range files {
		parsed, err := parser.ParseFile(fset, file, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			args = append(args, strings.Trim(spec.Path.Value, `"`))
		}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	built := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		built[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(built[path])
	}), nil
}

// check returns how the compiler's complaints about file differ from those it
// asks for.
func check(fset *token.FileSet, imports types.Importer, file string) (problems []string, err error) {
	parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	want := expectations(fset, parsed)
	if len(want) == 0 {
		return nil, fmt.Errorf("%s asks for no error", file)
	}
	found := make(map[int]bool)
	config := types.Config{Importer: imports, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			problems = append(problems, err.Error())
			return
		}
		at := fset.Position(e.Pos)
		if part, ok := want[at.Line]; !ok || !strings.Contains(e.Msg, part) {
			problems = append(problems, fmt.Sprintf("%v: unexpected error: %s", at, e.Msg))
		}
		found[at.Line] = true
	}}
	config.Check(parsed.Name.Name, fset, []*ast.File{parsed}, nil) // complaints go to Error
	for line, part := range want {
		if !found[line] {
			problems = append(problems, fmt.Sprintf("%s:%d builds, but must fail with %q", file, line, part))
		}
	}
	return problems, nil
}

// expectations returns what each line must be refused with.
func expectations(fset *token.FileSet, file *ast.File) map[int]string {
	want := make(map[int]string)
	for _, group := range file.Comments {
		for _, c := range group.List {
			if m := wanted.FindStringSubmatch(c.Text); m != nil {
				want[fset.Position(c.Pos()).Line] = m[1]
			}
		}
	}
	return want
}
