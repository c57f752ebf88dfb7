package httpkey

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The reference names the tests that hold it: each of them must be there.
func TestReferenceNamesItsTests(t *testing.T) {
	page := readPage(t, filepath.Join("..", "docs", "reference", "http.md"))
	tests := map[string]string{"": ".", "g": filepath.Join("..", "gateway")}
	for prefix, dir := range tests {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, name := range files {
			all.WriteString(readPage(t, name))
		}
		tests[prefix] = all.String()
	}
	named := regexp.MustCompile(`\b(?:(g) )?(Test\w+)`).FindAllStringSubmatch(page, -1)
	if len(named) < 50 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !strings.Contains(tests[m[1]], "func "+m[2]+"(") {
			t.Errorf("there is no test %s", m[0])
		}
	}
	for line := range strings.Lines(page) {
		row := strings.HasPrefix(line, "| ") && !strings.Contains(line, "held by")
		if row && !strings.Contains(line, "Test") {
			t.Errorf("no test holds the row %s", line)
		}
	}
	for slug := range problems {
		if !strings.Contains(page, "`"+slug+"`") {
			t.Errorf("the page does not mention %s", slug)
		}
	}
}
