// Command noskip turns the stream of go test -json back into what go test
// prints, and fails where go test would not: when a test was skipped, or when
// no test ran at all. A skipped test is a promise nobody checked, and it looks
// exactly like a kept one.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := report(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "noskip:", err)
		os.Exit(1)
	}
}

// event is the part of a test event (go doc cmd/test2json) that is used here.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// test names one test of one package; the empty name is the package itself.
type test struct{ pkg, name string }

// reporter prints the package lines as they come and keeps the output of a
// test until it is known whether anybody needs to read it.
type reporter struct {
	out             io.Writer
	held            map[test]string
	order           []test
	passed, failed  int
	skipped, broken []string
}

func report(in io.Reader, out io.Writer) error {
	r := &reporter{out: out, held: map[test]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return r.verdict()
		}
		if err != nil {
			return err
		}
	}
}

func (r *reporter) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		// Not an event: something wrote around the test runner. Show it.
		fmt.Fprint(r.out, line)
		return
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.output(t, e.Output)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.broken = append(r.broken, e.ImportPath)
	case "pass":
		if t.name != "" {
			r.passed++
		}
		delete(r.held, t)
	case "skip":
		if t.name != "" {
			r.skipped = append(r.skipped, t.pkg+" "+t.name)
			r.show(t)
		}
	case "fail":
		r.failed++
		r.fail(t)
	}
}

// output holds what a test prints, and lets through what the package prints,
// except for the PASS that go test leaves out too.
func (r *reporter) output(t test, text string) {
	if t.name == "" {
		if text != "PASS\n" {
			fmt.Fprint(r.out, text)
		}
		return
	}
	if strings.HasPrefix(text, "=== ") {
		return
	}
	if _, ok := r.held[t]; !ok {
		r.order = append(r.order, t)
	}
	r.held[t] += text
}

// fail shows a failed test, and for a failed package also every test that
// never came to an end: a panic or an exit leaves its story there.
func (r *reporter) fail(t test) {
	if t.name != "" {
		r.show(t)
		return
	}
	for _, unfinished := range r.order {
		if unfinished.pkg == t.pkg {
			r.show(unfinished)
		}
	}
}

func (r *reporter) show(t test) {
	fmt.Fprint(r.out, r.held[t])
	delete(r.held, t)
}

func (r *reporter) verdict() error {
	for _, s := range r.skipped {
		fmt.Fprintln(r.out, "SKIPPED", s)
	}
	switch {
	case r.failed > 0 || len(r.broken) > 0:
		return errors.New("tests failed")
	case len(r.skipped) > 0:
		return fmt.Errorf("%d tests were skipped: run them or delete them", len(r.skipped))
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
