package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
)

func (a *app) pruneCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove what is no longer needed",
		Long: `prune removes keys whose memory is over and answers whose time is over. It works
in small steps between which claims get their turn. A key in doubt is never
removed. semel serve does this by itself.`,
		Example: "  semel prune\n  semel prune --limit 100000",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case !c.Flags().Changed("limit"):
				limit = math.MaxInt
			case limit < 1:
				return usageError("--limit is %d, at least 1 is needed; without it everything is pruned", limit)
			}
			return a.tool(c.Context(), func(store listed) error { return a.prune(c.Context(), store, limit) })
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "at most so many keys, and so many answers (default all)")
	return c
}

// pruneReport is after how many removals the clock for progress is looked at.
const pruneReport = 2000

// prune prints its progress on standard error, so that long work is seen to be
// alive and standard output stays what it is.
func (a *app) prune(ctx context.Context, store semel.Store, limit int) error {
	var total semel.Pruned
	told := time.Now()
	for {
		batch := min(pruneReport, limit-max(total.Records, total.Results))
		p, err := store.Prune(ctx, batch)
		total.Records += p.Records
		total.Results += p.Results
		if err != nil {
			return &exitError{exitUnavailable, fmt.Errorf("%w (%s were removed before)", err, prunedText(total))}
		}
		if p.Records < batch && p.Results < batch || max(total.Records, total.Results) >= limit {
			break
		}
		if time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintf(a.err, "semel: %s removed so far\n", prunedText(total))
		}
	}
	return a.print(struct {
		Records int `json:"records"`
		Results int `json:"results"`
	}{total.Records, total.Results}, "%s removed\n", prunedText(total))
}

func prunedText(p semel.Pruned) string {
	return plural(p.Records, "key") + " and " + plural(p.Results, "answer")
}
