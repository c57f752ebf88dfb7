package compilefail

import (
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The harness itself: what builds although it must not, what is refused although
// nothing asks for it, and what is refused for another reason are all reported.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, src, problem string }{
		{"refused", `var s string = 1 // ERROR "cannot use 1"`, ""},
		{"builds", `var s string = "" // ERROR "cannot use"`, "builds, but must fail"},
		{"another reason", `var s string = 1 // ERROR "undefined"`, "unexpected error"},
		{"another line", "var s string = 1\nvar n int = \"\" // ERROR \"cannot use\"", "unexpected error"},
	} {
		file := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(file, []byte("package x\n"+c.src+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		problems, err := check(fset, nil, file)
		if got := strings.Join(problems, "\n"); err != nil || (c.problem == "") != (got == "") || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
