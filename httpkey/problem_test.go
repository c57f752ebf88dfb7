package httpkey

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Slugs, statuses, flags and member names are what clients branch on.
func TestProblemsAreAPromise(t *testing.T) {
	var got bytes.Buffer
	for _, slug := range slices.Sorted(maps.Keys(problems)) {
		p := NewProblem("", slug, "detail")
		w := httptest.NewRecorder()
		p.Write(w)
		fmt.Fprintf(&got, "%d %s %s\n%s\n", w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Body)
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	full := NewProblem("https://example.com/", "key-reused", "detail")
	full.Mismatch, full.Operation, full.FirstSeen, full.CompletedAt, full.FirstStatus = "body", "op", &at, &at, 201
	full.After(1500 * time.Millisecond)
	for _, f := range reflect.ValueOf(*full).Fields() {
		if f.IsZero() && f.Kind() != reflect.Bool {
			t.Errorf("a member is missing from the full problem: %+v", full)
		}
	}
	w := httptest.NewRecorder()
	full.Write(w)
	fmt.Fprintf(&got, "Retry-After: %s\n%s\n", w.Header().Get("Retry-After"), w.Body)

	golden := filepath.Join("testdata", "problems.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the problems have changed; if clients can bear it, run the test with -update:\n%s", got.Bytes())
	}
}

// Each problem has a page, whose first lines and example agree with it.
func TestProblemPages(t *testing.T) {
	dir := filepath.Join("..", "docs", "reference", "problems")
	index := readPage(t, filepath.Join(dir, "README.md"))
	for slug, k := range problems {
		page := readPage(t, filepath.Join(dir, slug+".md"))
		_, line, _ := strings.Cut(page, "\n\n**") // the first one in bold
		line, _, _ = strings.Cut(line, "\n")
		first, flags, _ := strings.Cut(line, "**")
		if !strings.HasPrefix(first, fmt.Sprintf("Status %d", k.status)) {
			t.Errorf("%s: the page says %q, the code %d", slug, first, k.status)
		}
		if want := fmt.Sprintf(" · `retryable` %v · `safe_new_key` %v · `outcome` %s", k.retryable, k.safeNewKey, k.outcome); flags != want {
			t.Errorf("%s: the page says %q, the code %q", slug, flags, want)
		}
		if !strings.Contains(index, fmt.Sprintf("| [%s](%s.md) | %d", slug, slug, k.status)) {
			t.Errorf("%s is not in the index with status %d", slug, k.status)
		}
		checkExample(t, slug, page)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(pages) != len(problems)+1 {
		t.Errorf("%d pages for %d problems, %v", len(pages), len(problems), err)
	}
	for f := range reflect.TypeFor[Problem]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(index, "`"+name+"`") {
			t.Errorf("the member %s is not in the index", name)
		}
	}
}

// checkExample holds the page's example against the problem.
func checkExample(t *testing.T, slug, page string) {
	t.Helper()
	_, example, found := strings.Cut(page, "## Example")
	start, end := strings.Index(example, "\n{"), strings.LastIndex(example, "}")
	if !found || start < 0 || end < start {
		t.Errorf("%s: the page has no example", slug)
		return
	}
	var p Problem
	d := json.NewDecoder(strings.NewReader(example[start : end+1]))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Errorf("%s: the example is not a problem: %v", slug, err)
	}
	want := NewProblem("", slug, p.Detail)
	if p.Type != want.Type || p.Title != want.Title || p.Code != slug || p.Retryable != want.Retryable || p.SafeNewKey != want.SafeNewKey || p.Outcome != want.Outcome {
		t.Errorf("%s: the example is %+v", slug, p)
	}
	if head := fmt.Sprintf("HTTP/1.1 %d ", p.Status); !strings.Contains(example, head) {
		t.Errorf("%s: the example's head is not %q", slug, head)
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
