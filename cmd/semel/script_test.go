package main

import (
	"context"
	"encoding/json"

	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary stand for the commands of the scripts: semel, and
// seed, which fills a store.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"semel": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"seed": func() {
			if err := seed(context.Background(), os.Args[1]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, params("testdata/script"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:             dir,
		UpdateScripts:   *update,
		ContinueOnError: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second more
			env.Setenv("USER", "ann")
			env.Setenv("SUDO_USER", "")
			env.Setenv("SEMEL_STORE", filepath.Join(env.WorkDir, "keys.db"))
			docs, err := filepath.Abs("../../docs")
			env.Setenv("DOCS", docs)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":     scriptCode,
			"scrub":    scriptScrub,
			"howto":    scriptHowto,
			"readonly": scriptReadOnly,
		},
	}
}

// scriptCode runs a command and demands its exit code: code 65 semel ….
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command …")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// What differs from run to run.
var scrubs = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`"(\d{4}-\d\d-\d\dT[\d:.]+Z)"`), `"TIME"`},
	{regexp.MustCompile(`("(?:age_ms|ends_in_ms|token)": ?)-?\d+`), `${1}N`},
	{regexp.MustCompile(`(?m)^(token +)\d+$`), `${1}N`},
	{regexp.MustCompile(`ann@[^\s"]+`), `ann@HOST`},
	{regexp.MustCompile(`\b2\ds ago`), `20s ago`},
}

func scrub(text string) string {
	for _, s := range scrubs {
		text = s.pattern.ReplaceAllString(text, s.by)
	}
	return text
}

// scriptScrub takes out of a file, or of stdout, what differs from run to run:
// scrub FROM TO.
func scriptScrub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: scrub from to")
	}
	text := ts.ReadFile(args[0])
	if strings.HasPrefix(text, "{") && !json.Valid([]byte(text)) {
		ts.Fatalf("this is not JSON:\n%s", text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(scrub(text)), 0o600))
}

// scriptReadOnly makes a database one that SQLite may only read, by the write
// version in its header: unlike a file's mode it binds every user.
func scriptReadOnly(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: readonly file")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	_, err = f.WriteAt([]byte{3}, 18)
	ts.Check(err)
	ts.Check(f.Close())
}
