package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/semel-dev/semel"
)

var abilityCases = []testCase{
	{name: "list: pages hold every record once", run: listPages},
	{name: "list: a page has its default and its largest size", run: listLimits},
	{name: "list: the filter chooses by scope, state and doubt", run: listFilter},
	{name: "list: records come as they are read, without results", run: listRecords},
	{name: "stats: rows and doubts are counted with their ages", run: stats},
	{name: "wait: a waiter returns on a change, or when its context is over", run: wait},
	{name: "ping: a store that is there answers, a context that is over does not", run: ping},
}

// list returns the records of all pages that f chooses.
func (e *env) list(s semel.Lister, f semel.Filter) []semel.Record {
	e.Helper()
	var all []semel.Record
	for range 1000 {
		page, err := s.List(e.Context(), f)
		if err != nil {
			e.Fatalf("list: %v", err)
		}
		if f.Limit > 0 && len(page.Records) > f.Limit {
			e.Errorf("a page of at most %d holds %d records", f.Limit, len(page.Records))
		}
		all = append(all, page.Records...)
		if f.Cursor = page.Cursor; f.Cursor == "" {
			return all
		}
	}
	e.Fatalf("the pages have no end")
	return nil
}

// ids returns the sorted ids of records.
func ids(recs []semel.Record) string {
	slices.SortFunc(recs, func(a, b semel.Record) int { return cmp.Compare(a.Key.ID, b.Key.ID) })
	var names []string
	for _, rec := range recs {
		names = append(names, rec.Key.ID)
	}
	return fmt.Sprint(names)
}

func listPages(e *env) {
	s, ok := e.s.(semel.Lister)
	if !ok {
		return
	}
	equal(e, "an empty store's list", ids(e.list(s, semel.Filter{})), "[]")
	for id := range 7 {
		e.win(fmt.Sprint(id))
	}
	for _, limit := range []int{0, 1, 2, 3, 7, 8} {
		equal(e, fmt.Sprint("the list in pages of ", limit), ids(e.list(s, semel.Filter{Limit: limit})), "[0 1 2 3 4 5 6]")
	}
	if _, err := s.List(cancelled(), semel.Filter{}); !errors.Is(err, context.Canceled) {
		e.Errorf("list when the context is over: error %v, want context.Canceled", err)
	}
}

func listLimits(e *env) {
	s, ok := e.s.(semel.Lister)
	if !ok {
		return
	}
	for id := range 1001 {
		e.claim(request(fmt.Sprint(id)))
	}
	for limit, want := range map[int]int{0: 100, 5000: 1000} {
		page, err := s.List(e.Context(), semel.Filter{Limit: limit})
		equal(e, "error", err, nil)
		equal(e, fmt.Sprintf("records in a page of %d", limit), len(page.Records), want)
		equal(e, "the page is the last", page.Cursor == "", false)
	}
}

func listFilter(e *env) {
	s, ok := e.s.(semel.Lister)
	if !ok {
		return
	}
	elsewhere := request("elsewhere")
	elsewhere.Key.Scope = "Storetest"
	e.claim(elsewhere)
	e.win("lapsed")
	e.win("doubt", marked("note"))
	e.advance(lease)
	e.win("held", marked("note"))
	e.change(e.win("doubted", marked("")), doubt())
	for _, c := range ends() {
		e.change(e.win(c.To.String()), c)
	}
	scope := key("").Scope
	for _, c := range []struct {
		f    semel.Filter
		want string
	}{
		{semel.Filter{}, "[dead done doubt doubted elsewhere free held lapsed]"},
		{semel.Filter{Scope: scope}, "[dead done doubt doubted free held lapsed]"},
		{semel.Filter{Scope: "Storetest"}, "[elsewhere]"},
		{semel.Filter{Scope: "storetes"}, "[]"},
		{semel.Filter{Scope: scope, States: []semel.State{semel.Held}}, "[doubt doubted held lapsed]"},
		{semel.Filter{States: []semel.State{semel.Free}}, "[free]"},
		{semel.Filter{States: []semel.State{semel.Done, semel.Dead}}, "[dead done]"},
		{semel.Filter{InDoubt: true}, "[doubt doubted]"},
		{semel.Filter{InDoubt: true, Scope: "Storetest"}, "[]"},
		{semel.Filter{InDoubt: true, States: []semel.State{semel.Done}}, "[]"},
	} {
		for _, c.f.Limit = range []int{0, 1} {
			equal(e, fmt.Sprintf("the list by %+v", c.f), ids(e.list(s, c.f)), c.want)
		}
	}
}

func listRecords(e *env) {
	s, ok := e.s.(semel.Lister)
	if !ok {
		return
	}
	e.win("held", marked(""), fingerprint("print"))
	e.change(e.win("done"), complete("result"))
	for _, got := range e.list(s, semel.Filter{}) {
		want := e.get(got.Key.ID)
		want.Result = nil
		if d := diff(got, want); d != "" {
			e.Errorf("the listed record of %q differs:%s", got.Key.ID, d)
		}
		equal(e, "Now is set", got.Now.IsZero(), false)
	}
}

func stats(e *env) {
	s, ok := e.s.(semel.Statser)
	if !ok {
		return
	}
	check := func(want semel.Stats) {
		e.Helper()
		got, err := s.Stats(e.Context())
		equal(e, "error", err, nil)
		equal(e, "Rows", got.Rows, want.Rows)
		equal(e, "InDoubt", got.InDoubt, want.InDoubt)
		for what, d := range map[string]time.Duration{"Oldest": got.Oldest - want.Oldest, "Doubt": got.Doubt - want.Doubt} {
			if d < 0 || d > margin {
				e.Errorf("%s is off by %v", what, d)
			}
		}
	}
	check(semel.Stats{})
	e.win("first")
	e.win("marked", marked("note"))
	e.advance(lease)
	check(semel.Stats{Rows: 2, InDoubt: 1, Oldest: lease})
	e.advance(lease)
	e.win("second", marked("note"))
	e.change(e.win("doubted", marked("")), doubt())
	check(semel.Stats{Rows: 4, InDoubt: 2, Oldest: 2 * lease, Doubt: lease})
}

func wait(e *env) {
	s, ok := e.s.(semel.Waiter)
	if !ok {
		return
	}
	held := e.win("k")
	if err := s.Wait(cancelled(), held.Key, held.Version()); !errors.Is(err, context.Canceled) {
		e.Errorf("wait when the context is over: error %v, want context.Canceled", err)
	}
	equal(e, "the error of a wait for what has changed", s.Wait(e.Context(), held.Key, semel.Version{}), nil)
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	defer cancel()
	woken := make(chan error, 1)
	go func() { woken <- s.Wait(ctx, held.Key, held.Version()) }()
	e.change(held, complete("result"))
	equal(e, "the error of a wait for a completion", <-woken, nil)
}

func ping(e *env) {
	s, ok := e.s.(semel.Pinger)
	if !ok {
		return
	}
	equal(e, "the error of a ping", s.Ping(e.Context()), nil)
	if err := s.Ping(cancelled()); !errors.Is(err, context.Canceled) {
		e.Errorf("ping when the context is over: error %v, want context.Canceled", err)
	}
}
