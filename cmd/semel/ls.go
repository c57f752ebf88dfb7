package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
)

var stateNames = []string{"free", "held", "done", "dead", inDoubt}

func (a *app) lsCommand() *cobra.Command {
	var scope, state string
	var limit int
	var all bool
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List keys",
		Long:    "ls lists the keys of a store, in no order that means anything. Ages are told by\nthe store's clock.",
		Example: "  semel ls --state in-doubt\n  semel ls --scope orders --all --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := newFilter(scope, state)
			switch {
			case err != nil:
				return err
			case limit < 1:
				return usageError("--limit is %d, at least 1 is needed; --all lists every key", limit)
			case all && c.Flags().Changed("limit"):
				return usageError("--limit and --all exclude each other")
			case all:
				limit = -1
			}
			return a.tool(c.Context(), func(store listed) error {
				return a.list(c.Context(), store, filter, state, limit)
			})
		},
	}
	c.Flags().StringVar(&scope, "scope", "", "only the keys of this scope")
	c.Flags().StringVar(&state, "state", "", "only the keys in this state: "+strings.Join(stateNames, ", "))
	c.Flags().IntVar(&limit, "limit", 100, "at most so many keys")
	c.Flags().BoolVar(&all, "all", false, "every key")
	must(c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// must is for mistakes that every run of the program would make.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newFilter(scope, state string) (semel.Filter, error) {
	f := semel.Filter{Scope: scope, Limit: 1000}
	switch state {
	case "":
	case inDoubt:
		f.InDoubt = true
	default:
		for s := semel.Free; s <= semel.Dead; s++ {
			if s.String() == state {
				f.States = []semel.State{s}
			}
		}
		if f.States == nil {
			return f, usageError("there is no state %s; the states are %s", visible(state), strings.Join(stateNames, ", "))
		}
	}
	return f, nil
}

// each calls f with what the filter chooses, page by page, until f is false. A
// held key that is in doubt is in that state alone.
func each(ctx context.Context, store semel.Lister, filter semel.Filter, state string, f func(*semel.Record) bool) error {
	for {
		page, err := store.List(ctx, filter)
		if err != nil {
			return storeError(err)
		}
		for i := range page.Records {
			rec := &page.Records[i]
			if (state == "" || stateOf(rec) == state) && !f(rec) {
				return nil
			}
		}
		if filter.Cursor = page.Cursor; filter.Cursor == "" {
			return nil
		}
	}
}

// list prints at most limit records, and says so if there are more.
func (a *app) list(ctx context.Context, store semel.Lister, filter semel.Filter, state string, limit int) error {
	var p printer = newTable(a.out)
	if a.json {
		p = &jsonList{w: a.out}
	}
	n, more := 0, false
	var broken error // of the output
	err := each(ctx, store, filter, state, func(rec *semel.Record) bool {
		if more = n == limit; more {
			return false
		}
		n++
		broken = p.record(rec)
		return broken == nil
	})
	if err := cmp.Or(err, broken); err != nil {
		return err
	}
	if err := p.end(more); err != nil {
		return err
	}
	if more && !a.json {
		fmt.Fprintf(a.err, "semel: there are more keys than %d; --limit or --all shows them\n", limit)
	}
	return nil
}

// printer writes records as they come: a store may hold more of them than fit
// into memory.
type printer interface {
	record(r *semel.Record) error
	end(more bool) error
}

// table prints for people. Its columns are as wide as a block of rows needs.
type table struct {
	w *tabwriter.Writer
	n int
}

func newTable(w io.Writer) *table {
	return &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

func (t *table) record(r *semel.Record) error {
	if t.n == 0 {
		fmt.Fprintln(t.w, "SCOPE\tID\tSTATE\tAGE\tENDS\tATTEMPTS\tHOLDER\tSOURCE")
	}
	state := stateOf(r)
	switch {
	case r.Expired():
		state += " (expired)"
	case r.Lapsed() && !r.InDoubt():
		state += " (lapsed)"
	}
	_, err := fmt.Fprintf(t.w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", visible(r.Key.Scope), visible(r.Key.ID), state,
		span(r.Now.Sub(r.Created)), from(r.Until.Sub(r.Now)), r.Attempts, visible(r.By), visible(string(r.Source)))
	if t.n++; t.n%1000 == 0 && err == nil {
		err = t.w.Flush()
	}
	return err
}

func (t *table) end(bool) error { return t.w.Flush() }

// jsonList prints {"keys": […], "more": …}, a key a line.
type jsonList struct {
	w io.Writer
	n int
}

func (l *jsonList) record(r *semel.Record) error {
	sep := ",\n  "
	if l.n == 0 {
		sep = "{\"keys\": [\n  "
	}
	l.n++
	line, err := json.Marshal(newEntry(r))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.w, "%s%s", sep, escapeJSON(line))
	return err
}

func (l *jsonList) end(more bool) error {
	begin := "\n]"
	if l.n == 0 {
		begin = "{\"keys\": []"
	}
	_, err := fmt.Fprintf(l.w, "%s, \"more\": %t}\n", begin, more)
	return err
}
