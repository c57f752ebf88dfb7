package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// settler settles keys one by one.
type settler struct {
	store  semel.Store
	keeper *semel.Keeper
	flags  *settleFlags
	body   []byte
}

// The verdicts on a settlement.
const (
	settled   = "settled"
	unchanged = "unchanged" // it already was so
	refused   = "refused"
	failed    = "failed" // the store did not do it
)

// verdict is what became of a settlement. The error says why not.
type verdict struct {
	word string
	err  error
	stop bool
}

// one settles a key, or under --dry-run finds out whether it could. The
// judgement is made in both cases, and the Keeper makes it again on the very
// version of the record that it changes.
func (s *settler) one(ctx context.Context, line *settlement) verdict {
	rec, err := lookup(ctx, s.store, line.key)
	if err != nil {
		return failure(err)
	}
	if v := s.judge(&rec, line); v.word != settled {
		return v
	}
	result, err := s.result(&rec)
	if err != nil {
		return verdict{refused, &exitError{exitUsage, err}, false}
	}
	if s.flags.dry {
		return verdict{word: settled}
	}
	_, err = s.keeper.Settle(ctx, line.key, semel.Settlement{
		Happened: line.outcome == outcomeDone, Result: result,
		Why: s.flags.why, Force: s.flags.force,
	})
	if err != nil {
		return failure(settleError(err))
	}
	return verdict{word: settled}
}

// settleError gives an error of Settle its exit code. That the key is in doubt
// is what the store's failure leaves it in, and no news.
func settleError(err error) error {
	if errors.Is(err, semel.ErrInDoubt) {
		return &exitError{exitUnavailable, err}
	}
	return storeError(err)
}

// failure tells what the key refuses from what the store cannot do.
func failure(err error) verdict {
	var exit *exitError
	if errors.As(err, &exit) && exit.code == exitUnavailable {
		return verdict{failed, err, true}
	}
	return verdict{refused, err, false}
}

func (s *settler) judge(rec *semel.Record, line *settlement) verdict {
	refuse := func(code int, format string, args ...any) verdict {
		return verdict{refused, &exitError{code, fmt.Errorf(format, args...)}, false}
	}
	is := rec.State.String()
	switch already := line.outcome == outcomeDone && rec.State == semel.Done || line.outcome == outcomeNotDone && rec.State == semel.Free; {
	case rec.InDoubt():
	case rec.Lapsed():
		return refuse(exitData, "the key is not in doubt: its lease ended %s without an effect announced, the next attempt takes it over", from(rec.Until.Sub(rec.Now)))
	case rec.State == semel.Held:
		return refuse(exitTempFail, "the key is not in doubt: %s holds it for %s more", holder(rec.By), left(rec.Until.Sub(rec.Now)))
	case already && line.line > 0:
		return verdict{unchanged, fmt.Errorf("the key is already %s", is), false}
	default:
		return refuse(exitData, "the key is %s and not in doubt: there is nothing to settle", is)
	}
	wait := unproven(rec, s.flags.deadline)
	if line.outcome == outcomeNotDone && wait > 0 && !s.flags.force {
		return refuse(exitData, "the lease ended %s, and what was sent then could still happen: repeat this %s, or use --force if you know better",
			from(rec.Until.Sub(rec.Now)), from(wait))
	}
	return verdict{word: settled}
}

// result is what is stored for those who repeat the work. An HTTP answer has a
// form of its own, and what is stored in the wrong one could never be replayed.
func (s *settler) result(rec *semel.Record) ([]byte, error) {
	isHTTP := requestOf(rec) != nil
	switch f := s.flags; {
	case f.statusSet && !isHTTP:
		return nil, fmt.Errorf("the key's note tells of no HTTP request: leave --status out, --body is then the result")
	case !f.statusSet && f.body != "" && isHTTP:
		return nil, fmt.Errorf("the key belongs to an HTTP request: its answer needs a --status beside the --body")
	case !f.statusSet:
		return s.body, nil
	}
	header := http.Header{}
	if s.body != nil {
		header.Set("Content-Type", s.flags.contentType)
	}
	return httpkey.EncodeAnswer(s.flags.status, header, s.body)
}
