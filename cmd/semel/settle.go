package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
)

// settleFlags are the command line of settle.
type settleFlags struct {
	scope              string
	done, notDone      bool
	status             int
	body, contentType  string
	file               string
	force, dry         bool
	why                string
	deadline           time.Duration
	window, resultFor  time.Duration
	statusSet, typeSet bool
}

func (a *app) settleCommand() *cobra.Command {
	f := new(settleFlags)
	c := &cobra.Command{
		Use:   "settle (KEY --scope SCOPE (--done | --not-done) | --from-file FILE)",
		Short: "Say whether the work of a key in doubt took effect",
		Long: `settle ends the doubt about a key: --done, the work took effect and is not done
again; --not-done, it did not, and the next attempt does it. Who settled it and
why is stored with the key.

--not-done is refused until the effect deadline has passed since the lease ended:
before that the effect may still be on its way. --force believes it all the same.

With --done, repeats of an HTTP request get --status and --body as their answer;
without these they are told that the answer is not there. Of other work --body is
the result.

--from-file settles many keys: lines of CSV (scope,id,outcome) or of JSON
({"scope": …, "id": …, "outcome": …}), the outcome being done or not-done. Nothing
is changed unless the whole file can be read. A key that already is what its line
says is left alone, so that a file can be repeated. --dry-run shows what would be
done.`,
		Example: `  semel settle 4f2c --scope orders --done --status 201 --body answer.json
  semel settle 4f2c --scope orders --not-done --why "not in the bank's list"
  semel settle --from-file settled.csv --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			f.statusSet, f.typeSet = c.Flags().Changed("status"), c.Flags().Changed("content-type")
			lines, result, err := f.read(a, args)
			if err != nil {
				return err
			}
			return a.tool(c.Context(), func(store listed) error { return a.settle(c.Context(), store, f, lines, result) })
		},
	}
	f.define(c)
	return c
}

func (f *settleFlags) define(c *cobra.Command) {
	scopeFlag(c, &f.scope)
	flags := c.Flags()
	flags.BoolVar(&f.done, "done", false, "the work took effect")
	flags.BoolVar(&f.notDone, "not-done", false, "the work did not take effect")
	flags.IntVar(&f.status, "status", 0, "with --done: the status that repeats of the request are answered with")
	flags.StringVar(&f.body, "body", "", "with --done: a file with the answer's body, or the result; - is standard input")
	flags.StringVar(&f.contentType, "content-type", "application/json", "with --status and --body: the body's type")
	flags.StringVar(&f.file, "from-file", "", "a file of settlements; - is standard input")
	flags.BoolVar(&f.force, "force", false, "believe --not-done before the effect deadline has passed")
	flags.BoolVar(&f.dry, "dry-run", false, "show what would be done, change nothing")
	flags.StringVar(&f.why, "why", "", "the reason, stored with the key")
	flags.DurationVar(&f.window, "window", 30*24*time.Hour, "how long a key that is done is remembered")
	flags.DurationVar(&f.resultFor, "result-for", 24*time.Hour, "how long its answer is kept")
	deadlineFlag(c, &f.deadline)
}

// settlement is one line of what is to be settled.
type settlement struct {
	line    int // 0: from the command line
	key     semel.Key
	outcome string
}

// The outcomes that a settlement can give.
const (
	outcomeDone    = "done"
	outcomeNotDone = "not-done"
)

// read makes the settlements that the command line asks for.
func (f *settleFlags) read(a *app, args []string) ([]settlement, []byte, error) {
	if err := f.check(args); err != nil {
		return nil, nil, err
	}
	if f.file != "" {
		lines, err := readSettlements(f.file, a.in)
		return lines, nil, err
	}
	key, err := keyArg(f.scope, args)
	if err != nil {
		return nil, nil, err
	}
	outcome := outcomeNotDone
	if f.done {
		outcome = outcomeDone
	}
	body, err := readBody(f.body, a.in)
	return []settlement{{0, key, outcome}}, body, err
}

func (f *settleFlags) check(args []string) error {
	single := f.done || f.notDone || f.scope != "" || f.statusSet || f.typeSet || f.body != ""
	switch {
	case f.file != "" && (single || len(args) > 0):
		return usageError("--from-file says it all: KEY, --scope, --done, --not-done, --status, --body and --content-type do not go with it")
	case f.file != "":
	case len(args) != 1:
		return oneKey(nil, args)
	case f.done == f.notDone:
		return usageError("one of --done and --not-done is needed: did the work take effect?")
	case f.notDone && (f.statusSet || f.body != ""):
		return usageError("--status and --body go with --done: what did not happen has no answer")
	case f.statusSet && (f.status < 200 || f.status > 599):
		return usageError("--status is %d, an answer's is 200 to 599", f.status)
	case f.typeSet && (!f.statusSet || f.body == ""):
		return usageError("--content-type goes with --status and --body")
	}
	return checkWhy(f.why)
}

// settle carries out the settlements, one after the other, and reports on each.
func (a *app) settle(ctx context.Context, store listed, f *settleFlags, lines []settlement, body []byte) error {
	keeper, err := semel.New(store, &semel.Options{
		EffectDeadline: f.deadline, Window: f.window, ResultFor: min(f.resultFor, f.window), By: operator(),
	})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	s := &settler{store, keeper, f, body}
	report := &settleReport{app: a, DryRun: f.dry, Results: []settleResult{}}
	for _, line := range lines {
		v := s.one(ctx, &line)
		if err := report.add(&line, v); err != nil {
			return err
		}
		if v.stop {
			break // the store is in trouble, which the next key will not mend
		}
	}
	return report.end(len(lines))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
