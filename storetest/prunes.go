package storetest

import (
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

var pruneCases = []testCase{
	{name: "rule 14: nothing is pruned before its end and its memory", run: pruneWaits},
	{name: "rule 14: the memory is the one of the last claim", run: pruneLastKeep},
	{name: "rule 16: what was pruned is as if it had never been", run: pruneForgets},
	{name: "rule 16: a prune removes at most as many as it was told", run: pruneLimit},
	{name: "rule 16: a prune tells what is over from what is not", run: pruneChooses},
	{name: "rule 16: a prune spares a key that was claimed anew", run: pruneSparesAnew},
	{name: "rule 17: a prune empties results past their retention", run: pruneEmpties},
	{name: "rule 18: what is or may come to be in doubt is never pruned", run: pruneSparesDoubt},
}

// coarse is how much later than exactly a store may prune what is remembered
// for span: it need not sort records finer than by a 64th of that, and may have
// sorted them at the claim.
func coarse(span time.Duration) time.Duration { return (span / 32).Truncate(time.Millisecond) }

func pruneWaits(e *env) {
	ended := []semel.Record{e.win("lapsed")}
	for _, c := range ends() {
		c.For = lease
		ended = append(ended, e.change(e.win(c.To.String()), c))
	}
	e.advance(lease + keep - margin)
	equal(e, "Records pruned before the memory's end", e.prune(100).Records, 0)
	for _, rec := range ended {
		e.stands(rec)
	}
	e.advance(margin + coarse(lease+keep))
	equal(e, "Records pruned after the memory's end", e.prune(100).Records, len(ended))
	for _, rec := range ended {
		equal(e, rec.Key.ID+" is gone", e.gone(rec.Key.ID), true)
	}
}

func pruneLastKeep(e *env) {
	e.change(e.win("k"), release())
	e.change(e.win("k", func(req *semel.Request) { req.Keep = 3 * keep }), release())
	e.advance(memory + 3*keep - margin)
	equal(e, "Records pruned before the memory's end", e.prune(100).Records, 0)
	e.advance(margin + coarse(memory+3*keep))
	equal(e, "Records pruned after the memory's end", e.prune(100).Records, 1)
}

func pruneForgets(e *env) {
	e.change(e.change(e.win("k"), complete("result")), forget(semel.Done))
	e.win("k")
	e.advance(lease + keep + coarse(lease+keep))
	e.prune(100)
	rec := e.claim(request("k")).Record
	equal(e, "Attempts", rec.Attempts, 1)
	equal(e, "Generation", rec.Generation, 0)
	e.instant("Created", rec.Created, rec.Now)
}

func pruneLimit(e *env) {
	ids := []string{"a", "b", "c", "d", "e"}
	for _, id := range ids {
		e.win(id)
	}
	e.advance(lease + keep + coarse(lease+keep))
	var total int
	for _, want := range []int{2, 2, 1, 0} {
		got := e.prune(2).Records
		equal(e, "Records pruned with a limit of 2", got, want)
		total += got
	}
	equal(e, "Records pruned in all", total, len(ids))
}

func pruneChooses(e *env) {
	const n = 60
	for i := range n {
		rec := e.win(fmt.Sprint(i))
		if i%3 == 0 {
			e.change(rec, complete("result"))
		}
	}
	e.advance(lease + keep + coarse(lease+keep))
	equal(e, "Records pruned", e.prune(1000).Records, n*2/3)
	for i := range n {
		equal(e, fmt.Sprint(i, " is gone"), e.gone(fmt.Sprint(i)), i%3 != 0)
	}
}

func pruneSparesAnew(e *env) {
	e.change(e.win("claimed"), release())
	renewed := e.win("renewed")
	e.advance(memory + keep + coarse(memory+keep))
	claimed := e.win("claimed")
	renewed = e.change(renewed, renew(lease))
	equal(e, "Records pruned", e.prune(100).Records, 0)
	e.stands(claimed)
	e.stands(renewed)
}

func pruneEmpties(e *env) {
	c := complete("result")
	c.ResultFor = time.Hour
	short := e.change(e.win("short"), c)
	long := e.change(e.win("long"), complete("result"))
	equal(e, "Results pruned in time", e.prune(100).Results, 0)
	e.advance(time.Hour)
	want := e.get("short")
	equal(e, "pruned", e.prune(100), semel.Pruned{Results: 1})
	equal(e, "pruned twice", e.prune(100), semel.Pruned{})
	e.stands(want)
	e.stands(long)
	equal(e, "Size of what was emptied", e.get("short").Size, short.Size)
	equal(e, "Kept", e.get("short").Kept, semel.KeptExpired)
}

func pruneSparesDoubt(e *env) {
	spared := []semel.Record{
		e.win("claimed", marked("note")),
		e.win("empty", marked("")),
		e.change(e.win("marked"), mark("note")),
		e.change(e.win("doubted", marked("note")), doubt()),
	}
	e.advance(100 * window)
	equal(e, "Records pruned", e.prune(100).Records, 0)
	for _, rec := range spared {
		e.stands(rec)
	}
}
