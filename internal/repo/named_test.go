package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTestsExist keeps the documents that name tests from rotting.
func TestNamedTestsExist(t *testing.T) {
	const security = "SECURITY.md"
	report(t, unheld(t, tree(), security, "docs/reference/http.md"))
	_, threats, _ := strings.Cut(read(t, tree(), security), "Each line names the tests")
	for _, item := range strings.Split(threats, "\n- ")[1:] {
		if !strings.HasPrefix(item, "*Not protected:*") && !testName.MatchString(item) {
			t.Errorf("%s: no test holds %q", security, item)
		}
	}
}

var testName = regexp.MustCompile(`\bTest[A-Z]\w*`)

// unheld returns the tests that pages name and no test file declares.
func unheld(t *testing.T, tree fs.FS, pages ...string) (problems []string) {
	t.Helper()
	declared := map[string]bool{}
	for _, name := range files(t, tree) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, read(t, tree, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				declared[f.Name.Name] = true
			}
		}
	}
	for _, page := range pages {
		named := testName.FindAllString(read(t, tree, page), -1)
		if len(named) == 0 {
			problems = append(problems, page+" names no test")
		}
		for _, name := range named {
			if !declared[name] {
				problems = append(problems, fmt.Sprintf("%s: there is no test %s", page, name))
			}
		}
	}
	return problems
}

func TestUnheldFindsFaults(t *testing.T) {
	planted := plant(map[string]string{
		"a_test.go":   "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc (s suite) TestM() {}\n\n// func TestC(\n",
		"x/b_test.go": "package x\n\nfunc TestB(t *testing.T) {}\n",
		"good.md":     "Held. Test: TestA, g TestB\n", "none.md": "Test: —\n",
		"bad.md": "TestA | TestM | TestC | TestAB |\n",
	})
	for page, want := range map[string]int{"good.md": 0, "none.md": 1, "bad.md": 3} {
		if found := unheld(t, planted, page); len(found) != want {
			t.Errorf("%s: found %q, want %d problems", page, found, want)
		}
	}
}
