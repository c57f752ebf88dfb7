package main

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

func (a *app) showCommand() *cobra.Command {
	var scope, claimID string
	var body bool
	var deadline time.Duration
	c := &cobra.Command{
		Use:   "show (KEY --scope SCOPE | --claim-id ID)",
		Short: "Show one key's life",
		Long: `show says what a store knows of one key, what that means, and what to do next.
--body prints the kept answer's body as it is, and nothing else; of work that is
no HTTP request it prints the result. The claim id is what a problem document
names its operation by.`,
		Example: "  semel show 4f2c --scope orders\n  semel show 4f2c --scope orders --body",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			find, err := showWhat(scope, claimID, args)
			if err != nil {
				return err
			}
			if body && a.json {
				return usageError("--body and --json exclude each other")
			}
			return a.tool(c.Context(), func(store listed) error {
				rec, err := find(c.Context(), store)
				switch {
				case err != nil:
					return err
				case body:
					return a.body(&rec)
				}
				return a.print(newLife(&rec), "%s", lifeText(&rec, deadline))
			})
		},
	}
	scopeFlag(c, &scope)
	c.Flags().StringVar(&claimID, "claim-id", "", "the key's claim id, instead of KEY and --scope")
	deadlineFlag(c, &deadline)
	c.Flags().BoolVar(&body, "body", false, "print the kept answer's body")
	return c
}

// showWhat says how to find the record that the command line names.
func showWhat(scope, claimID string, args []string) (func(context.Context, listed) (semel.Record, error), error) {
	if claimID != "" {
		if scope != "" || len(args) > 0 {
			return nil, usageError("--claim-id names the whole key: KEY and --scope do not go with it")
		}
		return byClaimID(claimID)
	}
	if err := oneKey(nil, args); err != nil {
		return nil, err
	}
	key, err := keyArg(scope, args)
	return func(ctx context.Context, store listed) (semel.Record, error) { return lookup(ctx, store, key) }, err
}

// oneKey demands one argument, the key's id.
func oneKey(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usageError("the KEY is missing")
	case 1:
		return nil
	}
	return usageError("one KEY is needed, there are %d", len(args))
}

func (a *app) body(rec *semel.Record) error {
	if rec.Kept != "" || rec.Result == nil {
		return &exitError{exitNotFound, errNoAnswer(rec)}
	}
	out := rec.Result
	if ans := answerOf(rec); ans != nil {
		out = ans.body
	}
	_, err := a.out.Write(out)
	return err
}

// life is an entry with the kept answer.
type life struct {
	*entry
	Answer *answer `json:"answer,omitempty"`
	Result []byte  `json:"result,omitempty"` // of work that is no HTTP request
}

// answer is an HTTP answer as it is kept.
type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Bytes  int         `json:"bytes"`
	body   []byte
}

func newLife(rec *semel.Record) *life {
	l := &life{entry: newEntry(rec), Answer: answerOf(rec)}
	if l.Answer == nil {
		l.Result = rec.Result
	}
	return l
}

// answerOf is the HTTP answer in rec's result, or nil. Of one that was not kept
// the status may still be there.
func answerOf(rec *semel.Record) *answer {
	status, header, body, err := httpkey.DecodeAnswer(rec.Result)
	if err != nil {
		return nil
	}
	return &answer{status, header, len(body), body}
}
