package repo

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func TestExportedIsDocumented(t *testing.T) { report(t, undocumented(t, tree())) }

// undocumented demands a comment that begins with the name for every package,
// exported function, method, type, constant and variable, and a comment for
// every method of a larger interface.
func undocumented(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	for _, p := range packages(t, tree) {
		c := commentCheck{pkg: p}
		c.packageComment()
		for _, file := range p.files {
			for _, decl := range file.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					if decl.Name.IsExported() && exportedReceiver(decl) {
						c.named(decl.Name, decl.Doc)
					}
				case *ast.GenDecl:
					c.group(decl)
				}
			}
		}
		problems = append(problems, c.problems...)
	}
	return problems
}

type commentCheck struct {
	pkg      pkg
	problems []string
}

func (c *commentCheck) problem(at ast.Node, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("%s: %s", c.pkg.fset.Position(at.Pos()), fmt.Sprintf(format, args...)))
}

func (c *commentCheck) packageComment() {
	want := "Package " + c.pkg.name() + " "
	if c.pkg.name() == "main" {
		want = "Command "
	}
	found := 0
	for _, file := range c.pkg.files {
		if file.Doc != nil {
			found++
			if !strings.HasPrefix(file.Doc.Text(), want) {
				c.problem(file, "the comment of the package does not begin with %q", want)
			}
		}
	}
	if found != 1 {
		c.problem(c.pkg.files[0], "package %s has %d comments, want one", c.pkg.name(), found)
	}
}

func (c *commentCheck) group(decl *ast.GenDecl) {
	var last token.Pos // the end of the last line that a comment covers
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				doc := spec.Doc
				if !decl.Lparen.IsValid() {
					doc = decl.Doc
				}
				c.named(spec.Name, doc)
				c.members(spec)
			}
		case *ast.ValueSpec:
			switch {
			case !decl.Lparen.IsValid():
				c.values(spec, decl.Doc)
			case spec.Doc != nil:
				c.values(spec, spec.Doc)
				last = spec.End()
			case spec.Comment != nil || decl.Doc != nil:
			case c.follows(last, spec):
				last = spec.End()
			default:
				c.values(spec, nil)
			}
		}
	}
}

func (c *commentCheck) values(spec *ast.ValueSpec, doc *ast.CommentGroup) {
	for _, name := range spec.Names {
		if name.IsExported() {
			c.named(name, doc)
			return // one comment for all names of a line, by the first of them
		}
	}
}

func (c *commentCheck) named(name *ast.Ident, doc *ast.CommentGroup) {
	if !strings.HasPrefix(doc.Text()+" ", name.Name+" ") {
		c.problem(name, "the comment of %s does not begin with its name", name.Name)
	}
}

// members looks at the methods of an interface. A comment covers the lines
// that follow it without a gap, and that of the type covers a single method.
// The fields of a struct are the writer's judgement: a Key called Key needs none.
func (c *commentCheck) members(spec *ast.TypeSpec) {
	typ, ok := spec.Type.(*ast.InterfaceType)
	if !ok || len(typ.Methods.List) < 2 {
		return
	}
	var last token.Pos
	for _, method := range typ.Methods.List {
		covered := method.Doc != nil || method.Comment != nil || c.follows(last, method)
		if covered {
			last = method.End()
		}
		for _, name := range method.Names {
			if name.IsExported() && !covered {
				c.problem(name, "%s.%s has no comment", spec.Name.Name, name.Name)
			}
		}
	}
}

// follows reports that a node begins on the line after a position.
func (c *commentCheck) follows(last token.Pos, node ast.Node) bool {
	return last.IsValid() && c.pkg.fset.Position(last).Line+1 == c.pkg.fset.Position(node.Pos()).Line
}

func exportedReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	typ := decl.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func TestUndocumentedFindsFaults(t *testing.T) {
	const head = "// Package p is here.\npackage p\n\n"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"sound", head + `
// T is a type.
type T[K any] struct {
	// A and B are covered by this.
	A int
	B int

	C int // on the line
	d int
}

// M does it.
func (t *T[K]) M() {}

func (t *T[K]) m() {}

type u struct{ X int }

func (u) M() {}

// The states.
const (
	X = 1
	Y = 2
)

const (
	// Z is last.
	Z = 3
	z = 4
)
`, nil},
		{"package", "package p\n", []string{"package p has 0 comments"}},
		{"package begins", "// This is it.\npackage p\n", []string{`begin with "Package p "`}},
		{"function", head + "func F() {}\n", []string{"comment of F"}},
		{"function begins", head + "// Does F.\nfunc F() {}\n", []string{"comment of F"}},
		{"function of another name", head + "// Foo does it.\nfunc F() {}\n", []string{"comment of F"}},
		{"method", head + "// T is a type.\ntype T int\n\nfunc (*T) M() {}\n", []string{"comment of M"}},
		{"type in a group", head + "type (\n\tT int\n)\n", []string{"comment of T"}},
		{"interface method", head + "// T is a type.\ntype T interface {\n\t// L is covered.\n\tL()\n\n\tM()\n}\n", []string{"T.M has no comment"}},
		{"variable", head + "var V = 1\n", []string{"comment of V"}},
		{"constant after a gap", head + "const (\n\t// A is covered.\n\tA = 1\n\n\tB = 2\n)\n", []string{"comment of B"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := undocumented(t, plant(map[string]string{"go.mod": "module " + root + "\n", "p.go": tt.text}))
			if len(found) != len(tt.want) {
				t.Fatalf("found %q, want %q", found, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(found[i], want) {
					t.Errorf("found %q, want %q", found[i], want)
				}
			}
		})
	}
}

func TestWords(t *testing.T) { report(t, lines(t, tree(), "", forbidden)) }

// A sleep in a test is slow when the time is too long and flaky when it is too
// short. Inside testing/synctest it is neither, and says so.
func TestSleeps(t *testing.T) { report(t, lines(t, tree(), "_test.go", sleeps)) }

// rule is a pattern that no line may match, unless another excuses the line.
// The patterns are put together from parts, so that they do not match here.
type rule struct{ pattern, excuse *regexp.Regexp }

var (
	sleeps = []rule{{
		regexp.MustCompile(`\btime\.` + `Sleep\b`),
		regexp.MustCompile(`// sleep: \S`),
	}}

	// forbidden keeps the texts about the project: not about who wrote them,
	// where, with what, or on which list the work was kept.
	forbidden = []rule{
		word(`(^|[^\w.])/wo` + `rk/`),
		word(`\.\./sha` + `red\b`),
		word(`/ro` + `ot/`),
		word(`/tm` + `p/\w`),
		word(`\b(proxy|sum)\.gol` + `ang\.org\b`),
		word(`\bregistry\.np` + `mjs\.org\b`),
		word(`\b(deb|security)\.deb` + `ian\.org\b`),
		word(`(?i)\bissues? ` + `(show|list|#?\d)`),
		word(`(?i)\bcla` + `ude\b|\banth` + `ropic\b|\bchat` + `gpt\b`),
		word(`(?i)\b(co-authored|generated) ` + `(by|with) (an? )?(ai|assistant|agent|model)\b`),
		word(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
	}
)

func word(pattern string) rule { return rule{pattern: regexp.MustCompile(pattern)} }

// lines applies rules to the lines of the files whose names end in suffix.
// Sums are not text, and the packages they name are not our choice of words.
func lines(t *testing.T, tree fs.FS, suffix string, rules []rule) (problems []string) {
	t.Helper()
	for _, name := range files(t, tree) {
		if !strings.HasSuffix(name, suffix) || strings.HasSuffix(name, "go.sum") {
			continue
		}
		n := 0
		for line := range strings.Lines(read(t, tree, name)) {
			n++
			for _, r := range rules {
				if found := r.pattern.FindString(line); found != "" && (r.excuse == nil || !r.excuse.MatchString(line)) {
					problems = append(problems, fmt.Sprintf("%s:%d: %q does not belong here", name, n, found))
				}
			}
		}
	}
	return problems
}

func TestLinesFindFaults(t *testing.T) {
	bad := []string{
		"see /wo" + "rk/main", "../sha" + "red/text.md", "https://proxy.gol" + "ang.org", "as in iss" + "ue 12",
		"by Cla" + "ude", "// TO" + "DO", "co-authored " + "by an assistant",
	}
	for _, text := range bad {
		tree := fstest.MapFS{"docs/a.md": {Data: []byte("# Title\n\n" + text + "\n")}}
		if found := lines(t, tree, "", forbidden); len(found) != 1 || !strings.HasPrefix(found[0], "docs/a.md:3:") {
			t.Errorf("%q: found %q", text, found)
		}
	}
	good := []string{"a piece of work/effort", "the reissue 1", "https://example.com/work/1", "shared", "this issue"}
	for _, text := range good {
		if found := lines(t, fstest.MapFS{"a.md": {Data: []byte(text)}}, "", forbidden); len(found) > 0 {
			t.Errorf("%q: found %q", text, found)
		}
	}

	sleep := "\ttime.Sl" + "eep(time.Second)"
	for text, want := range map[string]int{
		sleep:                              1,
		sleep + " // sleep:":               1,
		sleep + " // sleep: fake time":     0,
		sleep + "\n// sleep: on this line": 1,
	} {
		if found := lines(t, fstest.MapFS{"a_test.go": {Data: []byte(text)}}, "_test.go", sleeps); len(found) != want {
			t.Errorf("%q: found %q", text, found)
		}
	}
}
