package main

import (
	"errors"
	"fmt"
	"strings"
)

// settleReport tells, line by line, what became of settlements. Its JSON is a
// promise like entry's.
type settleReport struct {
	app       *app
	DryRun    bool           `json:"dry_run"`
	Results   []settleResult `json:"results"`
	Settled   int            `json:"settled"`
	Unchanged int            `json:"unchanged"`
	Refused   int            `json:"refused"`
	Failed    int            `json:"failed"`
	NotTried  int            `json:"not_tried"`
	first     error          // that ends the process
}

type settleResult struct {
	Line    int    `json:"line,omitempty"`
	Scope   string `json:"scope"`
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

func (r *settleReport) add(line *settlement, v verdict) error {
	res := settleResult{line.line, line.key.Scope, line.key.ID, line.outcome, v.word, ""}
	if v.err != nil {
		res.Reason = reason(v.err)
	}
	r.Results = append(r.Results, res)
	*map[string]*int{settled: &r.Settled, unchanged: &r.Unchanged, refused: &r.Refused, failed: &r.Failed}[v.word]++
	if v.word != unchanged && r.first == nil {
		r.first = v.err
	}
	if r.app.json || line.line == 0 && v.word != settled {
		return nil // the end, or the command's error, says it
	}
	return r.tell(line, &res)
}

// tell prints a line's verdict.
func (r *settleReport) tell(line *settlement, res *settleResult) error {
	verb := map[bool]string{false: "settled as ", true: "would be settled as "}[r.DryRun] + line.outcome
	if res.Verdict != settled {
		verb = res.Verdict + ": " + res.Reason
	}
	where := ""
	if line.line > 0 {
		where = fmt.Sprintf("line %d: ", line.line)
	}
	_, err := fmt.Fprintf(r.app.out, "%s%s: %s\n", where, name(line.key), verb)
	return err
}

// reason is an error without its exit code.
func reason(err error) string {
	var exit *exitError
	if errors.As(err, &exit) {
		err = exit.err
	}
	return strings.TrimPrefix(err.Error(), "semel: ")
}

// end prints the totals, and returns the error that the command ends with: of a
// file the first one's code.
func (r *settleReport) end(lines int) error {
	r.NotTried = lines - len(r.Results)
	fromFile := lines != 1 || r.Results[0].Line > 0
	if r.app.json || fromFile {
		err := r.app.print(r, "%s, %d unchanged, %d refused, %d failed, %d not tried\n",
			map[bool]string{false: fmt.Sprintf("%d settled", r.Settled), true: fmt.Sprintf("%d would be settled", r.Settled)}[r.DryRun],
			r.Unchanged, r.Refused, r.Failed, r.NotTried)
		if err != nil {
			return err
		}
	}
	var exit *exitError
	switch {
	case !errors.As(r.first, &exit) || !fromFile:
		return r.first
	case r.Failed > 0:
		return &exitError{exitUnavailable, fmt.Errorf("the store failed after %s", plural(len(r.Results)-1, "line"))}
	}
	return &exitError{exitData, fmt.Errorf("%s of %d could not be settled", plural(r.Refused, "line"), lines)}
}
