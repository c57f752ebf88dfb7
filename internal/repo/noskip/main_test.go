package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport runs real packages through go test -json, so that a change of the
// event format is noticed here and not by a skipped test going unseen.
func TestReport(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n"
	tests := []struct {
		name, source string
		want, wantNo []string
		err          string
	}{
		{
			name:   "pass",
			source: "func TestA(t *testing.T) { t.Log(\"quiet\") }",
			want:   []string{"ok  \tp\t"},
			wantNo: []string{"quiet", "PASS", "=== RUN"},
		},
		{
			name:   "fail",
			source: "func TestA(t *testing.T) { t.Error(\"the reason\") }\nfunc TestB(t *testing.T) { t.Log(\"quiet\") }",
			want:   []string{"the reason", "--- FAIL: TestA", "FAIL\tp\t"},
			wantNo: []string{"quiet"},
			err:    "tests failed",
		},
		{
			name:   "skip",
			source: "func TestA(t *testing.T) { t.Skip(\"some day\") }\nfunc TestB(t *testing.T) {}",
			want:   []string{"ok  \tp\t", "some day", "SKIPPED p TestA"},
			err:    "1 tests were skipped",
		},
		{
			name:   "skipped subtest",
			source: "func TestA(t *testing.T) { t.Run(\"b\", func(t *testing.T) { t.SkipNow() }) }",
			want:   []string{"SKIPPED p TestA/b"},
			err:    "1 tests were skipped",
		},
		{
			name:   "panic",
			source: "func TestA(t *testing.T) { panic(\"went wrong\") }",
			want:   []string{"went wrong", "FAIL\tp\t"},
			err:    "tests failed",
		},
		{
			name:   "exit in the middle of a test",
			source: "func TestA(t *testing.T) { println(\"last words\"); os.Exit(3) }",
			want:   []string{"last words", "FAIL\tp\t"},
			err:    "tests failed",
		},
		{
			name:   "does not compile",
			source: "func TestA(t *testing.T) { undefined() }",
			want:   []string{"undefined: undefined", "FAIL\tp [build failed]"},
			err:    "tests failed",
		},
		{
			name:   "no test",
			source: "func BenchmarkA(b *testing.B) {}",
			want:   []string{"[no tests to run]"},
			err:    "no test ran",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module p\n\ngo 1.26\n")
			write(t, filepath.Join(dir, "p_test.go"), head+tt.source+"\n")
			cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off")
			events, _ := cmd.Output() // fails whenever the package does

			var out bytes.Buffer
			err := report(bytes.NewReader(events), &out)
			if got := errorText(err); got != tt.err && (tt.err == "" || !strings.HasPrefix(got, tt.err)) {
				t.Errorf("error %q, want %q", got, tt.err)
			}
			for _, s := range tt.want {
				if !strings.Contains(out.String(), s) {
					t.Errorf("output lacks %q", s)
				}
			}
			for _, s := range tt.wantNo {
				if strings.Contains(out.String(), s) {
					t.Errorf("output contains %q", s)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s\nevents:\n%s", out.String(), events)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
