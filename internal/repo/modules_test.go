package repo

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRootRequiresNothing(t *testing.T) { report(t, rootRequires(t, tree())) }

func TestRootImportsOnlyTheStandardLibrary(t *testing.T) { report(t, rootImports(t, tree())) }

func TestModulesFindEachOther(t *testing.T) { report(t, siblings(t, tree())) }

func TestWorkspaceIsComplete(t *testing.T) { report(t, workspace(t, tree())) }

func rootRequires(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	for _, m := range modules(t, tree) {
		if m.path == root && len(m.requires) > 0 {
			problems = append(problems, "go.mod: the root module requires nothing, so that its users inherit nothing")
		}
	}
	return problems
}

// rootImports looks at the files and not at the build, which inside a
// workspace would find the other modules, and sees one platform only.
func rootImports(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	all := modules(t, tree)
	for _, name := range files(t, tree) {
		if path.Ext(name) != ".go" || owner(all, name).path != root || slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, read(t, tree, name), parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(imported, "/")
			standard := !strings.Contains(first, ".") && imported != "C"
			own := imported == root || strings.HasPrefix(imported, root+"/") &&
				owner(all, strings.TrimPrefix(imported, root+"/")+"/x.go").path == root
			if !standard && !own {
				problems = append(problems, fmt.Sprintf("%s imports %s: the root module has the standard library and itself", name, imported))
			}
		}
	}
	return problems
}

// siblings demands that a module of ours requires another in one of two ways:
// unreleased and replaced by its directory, or released and not replaced.
// go install refuses a module that replaces anything.
func siblings(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	all := modules(t, tree)
	for _, m := range all {
		for _, other := range all {
			version, required := m.requires[other.path]
			target, replaced := m.replaces[other.path]
			delete(m.replaces, other.path)
			switch {
			case !required && !replaced:
			case version == unreleased && path.Join(m.dir, target) == other.dir && strings.HasPrefix(target, "."):
			case version != unreleased && required && !replaced:
			default:
				problems = append(problems, fmt.Sprintf("%s/go.mod: %s is required as %q and replaced by %q", m.dir, other.path, version, target))
			}
		}
		for old := range m.replaces {
			problems = append(problems, fmt.Sprintf("%s/go.mod replaces %s, which is not ours", m.dir, old))
		}
	}
	return problems
}

func workspace(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	var want, got []string
	for _, m := range modules(t, tree) {
		// The tools keep to themselves: their requirements would choose the
		// versions that everything else is tested with.
		if m.dir != "internal/tools" {
			want = append(want, m.dir)
		}
	}
	for _, words := range directives(read(t, tree, "go.work")) {
		switch words[0] {
		case "use":
			got = append(got, path.Clean(words[1]))
		case "replace":
			problems = append(problems, "go.work replaces "+words[1]+": users do not have this file")
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		problems = append(problems, fmt.Sprintf("go.work uses %q, the tree has %q", got, want))
	}
	return problems
}

func TestModuleRulesFindFaults(t *testing.T) {
	sound := func() fstest.MapFS {
		return plant(map[string]string{
			"go.mod":         "module " + root + "\n\ngo 1.26\n",
			"go.work":        "go 1.26\n\nuse (\n\t.\n\t./cmd/semel // the binary\n)\n",
			"doc.go":         "package semel\n\nimport _ \"net/http\"\nimport _ \"" + root + "/flight\"\n",
			"flight/doc.go":  "package flight\n",
			"cmd/semel/a.go": "package main\n\nimport _ \"example.com/driver\"\n",
			"cmd/semel/go.mod": "module " + root + "/cmd/semel\n\nrequire " + root + " " + unreleased +
				"\n\nreplace " + root + " => ../..\n",
			"internal/tools/go.mod": "module " + root + "/internal/tools\n",
		})
	}
	rules := func(t *testing.T, tree fs.FS) []string {
		t.Helper()
		return slices.Concat(rootRequires(t, tree), rootImports(t, tree), siblings(t, tree), workspace(t, tree))
	}
	if found := rules(t, sound()); len(found) > 0 {
		t.Fatalf("a sound tree: %q", found)
	}

	binary := "module " + root + "/cmd/semel\n\n"
	faults := []struct{ name, file, text string }{
		{"requirement of the root", "go.mod", "module " + root + "\n\nrequire example.com/x v1.0.0\n"},
		{"replacement in the root", "go.mod", "module " + root + "\n\nreplace example.com/x => ./x\n"},
		{"foreign import", "x/x.go", "package x\n\nimport _ \"example.com/x\"\n"},
		{"foreign import of a test", "x/x_test.go", "package x\n\nimport _ \"example.com/x\"\n"},
		{"foreign import on one platform", "x_plan9.go", "package semel\n\nimport _ \"example.com/x\"\n"},
		{"C", "x.go", "package semel\n\nimport \"C\"\n"},
		{"import of another module of ours", "x.go", "package semel\n\nimport _ \"" + root + "/cmd/semel/config\"\n"},
		{"no replacement", "cmd/semel/go.mod", binary + "require " + root + " " + unreleased + "\n"},
		{"replacement by another directory", "cmd/semel/go.mod", binary + "require " + root + " " + unreleased + "\n\nreplace " + root + " => ../../flight\n"},
		{"released and replaced", "cmd/semel/go.mod", binary + "require " + root + " v0.1.0\n\nreplace " + root + " => ../..\n"},
		{"fork", "cmd/semel/go.mod", binary + "replace example.com/x => example.com/fork v1.0.0\n"},
		{"module outside the workspace", "redisstore/go.mod", "module " + root + "/redisstore\n"},
		{"tools in the workspace", "go.work", "use .\nuse ./cmd/semel\nuse ./internal/tools\n"},
		{"replacement in the workspace", "go.work", "use .\nuse ./cmd/semel\nreplace " + root + " => .\n"},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			tree := sound()
			tree[f.file] = &fstest.MapFile{Data: []byte(f.text)}
			if found := rules(t, tree); len(found) != 1 {
				t.Errorf("found %q, want one problem", found)
			}
		})
	}

	released := sound()
	released["cmd/semel/go.mod"] = &fstest.MapFile{Data: []byte(binary + "require " + root + " v0.1.0\n")}
	if found := rules(t, released); len(found) > 0 {
		t.Errorf("after a release: %q", found)
	}
}

// plant makes a tree of the given files.
func plant(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}
