package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README shows excerpts of these programs and what they print. Both are as
// they are.
func TestReadmeTellsTheTruth(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources string
	for _, name := range []string{"once", "transaction"} {
		out, err := exec.CommandContext(t.Context(), "go", "run", "./"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if !strings.Contains(string(readme), "```\n"+string(out)+"```") {
			t.Errorf("the README does not show what %s prints:\n%s", name, out)
		}
		src, err := os.ReadFile(filepath.Join(name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		sources += string(src)
	}
	excerpts := strings.Split(string(readme), "```go\n")[1:]
	for _, e := range excerpts {
		code, _, _ := strings.Cut(e, "```")
		if !strings.Contains(sources, code) {
			t.Errorf("no program contains this excerpt:\n%s", code)
		}
	}
	if len(excerpts) != 3 {
		t.Errorf("found %d excerpts", len(excerpts))
	}
}
