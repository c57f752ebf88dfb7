package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestHowto runs the commands of the how-to pages and compares what they print.
func TestHowto(t *testing.T) {
	testscript.Run(t, params("testdata/howto"))
}

// scriptHowto runs what a page's console blocks show: "$ " begins a command,
// what follows it is its output.
func scriptHowto(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: howto page")
	}
	page := ts.ReadFile(args[0])
	ran := 0
	for i, block := range strings.Split(page, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(strings.TrimSuffix(step, "\n")+"\n", "\n")
			err := ts.Exec("sh", "-c", command+" 2>&1")
			got := ts.ReadFile("stdout")
			if scrub(got) != scrub(want) {
				ts.Fatalf("$ %s (%v)\nprints:\n%s\nthe page has:\n%s", command, err, got, want)
			}
			ran++
		}
	}
	if ran == 0 {
		ts.Fatalf("the page shows no command")
	}
}
