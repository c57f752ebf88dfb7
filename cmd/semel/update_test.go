package main

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files and the pages made from the code anew")

// golden compares text with a file, or writes it there.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s is not up to date; go test -update writes it anew. Now:\n%s", file, text)
	}
}
