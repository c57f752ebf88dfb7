package main

import (
	"context"
	"errors"
	"strings"

	"github.com/semel-dev/semel"
)

// demoConfig is the gateways' configuration: the API's address, its own two,
// the store, and the time in which the API carries out what it accepted.
const demoConfig = `upstream: %s
listen: %s
admin:
  listen: %s
store: %s
deadline: %s
routes:
  - pattern: POST /charges
    scope: credential
    lease: 2s
    on_ambiguous: probe
    probe:
      path: /charges/{key}
`

// demoReport is what the demo found.
type demoReport struct {
	Intents int        `json:"intents"`
	Clients int        `json:"clients"`
	With    *runReport `json:"with_semel"`
	Without *runReport `json:"without_semel"`
	OK      bool       `json:"ok"`
}

// runReport is what became of one storm.
type runReport struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	Charges  int     `json:"charges"`
	Once     int     `json:"charged_once"`
	Twice    int     `json:"charged_more_than_once"`
	Lost     int     `json:"never_charged"`
	Killed   int     `json:"gateways_killed"`
	Doubted  int     `json:"seen_in_doubt_by_a_client"`
	InDoubt  int     `json:"in_doubt_at_the_end"`
	Probed   int     `json:"settled_by_probe_as_charged"`
	Rerun    int     `json:"proven_not_charged_and_run_again"`
	Late     int     `json:"settled_by_a_late_answer"`
}

// audit reads from the store what settled the payments that were in doubt.
func (d *demo) audit(ctx context.Context, s *storm, r *runReport) error {
	store, err := openStore(ctx, d.storePath(), false)
	if err != nil {
		return err
	}
	defer func() { _ = store.close() }()
	lister, ok := store.Store.(semel.Lister)
	if !ok {
		return &exitError{exitUnavailable, errors.New("the store cannot list its keys")}
	}
	for f := (semel.Filter{}); ; {
		page, err := lister.List(ctx, f)
		if err != nil {
			return storeError(err)
		}
		for i := range page.Records {
			r.settledBy(s, &page.Records[i])
		}
		if f.Cursor = page.Cursor; f.Cursor == "" {
			return nil
		}
	}
}

func (r *runReport) settledBy(s *storm, rec *semel.Record) {
	_, doubted := s.doubts.Load(rec.Key.ID)
	switch {
	case rec.State == semel.Held && rec.Note != nil:
		r.InDoubt++
	case rec.State == semel.Done && strings.HasPrefix(rec.Why, "found to have happened"):
		r.Probed++
	case rec.State == semel.Done && rec.Attempts > 1:
		r.Rerun++
	case rec.State == semel.Done && doubted:
		r.Late++
	}
}

const demoTable = `
                                        with semel   without
  payments                              %10d%10d
  requests                              %10d%10d
  charges                               %10d%10d
  charged once                          %10d%10d
  charged more than once                %10d%10d
  never charged                         %10d%10d
  gateways killed with SIGKILL          %10d         -
  outcome lost, found by the probe      %10d         -
  proven not charged, then run again    %10d         -
  settled by a late answer              %10d         -
  clients told that it is in doubt      %10d         -
  in doubt at the end                   %10d         -

`

func (r *demoReport) print(a *app) error {
	w, o := r.With, r.Without
	return a.print(r, demoTable, r.Intents, r.Intents, w.Requests, o.Requests, w.Charges, o.Charges, w.Once, o.Once,
		w.Twice, o.Twice, w.Lost, o.Lost, w.Killed, w.Probed, w.Rerun, w.Late, w.Doubted, w.InDoubt)
}
