package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// The cases that people reported of other libraries, as far as the store
// decides them. The table of the rules holds the general form of each.
var reportCases = []testCase{
	// C001 Key stays in progress for ever after a timeout or kill
	// (aws-powertools/powertools-lambda-python#1038).
	// C071 kill -9, restart, out of memory: the lock stays
	// (zoolutions/sidekiq-unique-jobs#546).
	{name: "C001 C071: a killed holder's key is free at the lease's end, and not for the window", run: killedHolder},
	// C002 Remaining time of zero read as "no lease at all"
	// (aws-powertools/powertools-lambda-python#4759).
	{name: "C002: no record is held without an end", run: noEndlessLease},
	// C026 Key length counted in characters at the door and bytes in the store
	// (paveg/hono-idempotency#93).
	// C027 Long random key overflows the index, long repetitive key does not
	// (triggerdotdev/trigger.dev#3560).
	{name: "C026 C027: the limit of a key is one of bytes, whatever they are", run: keyLengths},
	// C036 One mutex per key ever seen (gofiber/fiber#3262).
	// C115 Clean-up function exists, nothing is reclaimed
	// (viktor-svirsky/todoist-ai-agent#139).
	{name: "C036 C115: pruning brings a store back to empty", run: prunedEmpty},
	// C053 Two consumers of one event: the second is refused as a duplicate
	// (MassTransit/MassTransit#3543).
	{name: "C053: two consumers of one message are two keys", run: twoConsumers},
	// C054 One duplicate in a batch stops the whole partition
	// (JasperFx/wolverine#2648).
	{name: "C054: a duplicate among many is an ordinary answer", run: duplicateAmongMany},
	// C058 The system's own requeue is judged a duplicate
	// (JasperFx/wolverine#782).
	{name: "C058: a failed message is claimed anew and its attempts are counted", run: requeued},
	// C063 Is the window from first sight or from last sight?
	// (nats-io/nats-server#7302).
	{name: "C063: a sender that repeats at half the window is let through once a window", run: fixedWindow},
	// C065 Dedup memory gone after restart (nats-io/nats-server#3272).
	{name: "C065: the answer is the same before and after a restart", run: restarted, survives: true},
	// C066 Bounded cache full: old ids evicted inside the window
	// (noxdafox/rabbitmq-message-deduplication#80).
	{name: "C066: the first of many keys is remembered", run: firstOfMany},
	// C069 Broker dedup remembers an attempt that was never stored
	// (apache/pulsar#5218).
	{name: "C069: a claim alone never suppresses for good", run: claimAlone},
	// C073 Late heartbeat steals the lease back from the new owner
	// (brendanlong/lion-reader#917).
	{name: "C073: a stalled holder cannot renew, mark or complete after a takeover", run: stalledHolder},
	// C074 Release deletes whatever is there (bsm/redislock#65).
	{name: "C074: a late release does not free the next holder's key", run: lateRelease},
	// C075 Renewal fails but the work goes on (go-redsync/redsync#158).
	{name: "C075: a short outage of the renewals costs nothing", run: missedRenewals},
	// C076 A dead, archived or failed job blocks its successors
	// (hibiken/asynq#492).
	{name: "C076: a dead key is free after its window, a failed one at once", run: deadForAWhile},
	// C079 Sub-second or odd durations (hibiken/asynq#338).
	{name: "C079: durations are kept to the millisecond and refused beyond their range", run: oddWindows},
	// C094 MySQL: 'A' = 'a' = 'a ' = 'á'
	// (https://w3toppers.com/mysql-database-with-unique-fields-ignored-ending-spaces/).
	{name: "C094: case, accents, blanks and Unicode forms make different keys", run: collations},
	// C098 Loser gets no row back, or cannot see the winner's row
	// (oxidecomputer/omicron#1168).
	{name: "C098: a loser is told who won", run: loserSees},
	// C108 Lease written with one machine's clock, judged by another's
	// (johanhaleby/occurrent#659).
	{name: "C108: only the store's clock counts", run: storeClock},
}

func killedHolder(e *env) {
	e.win("k", func(req *semel.Request) { req.Keep = semel.MaxWindow })
	e.advance(lease - margin)
	left := e.refuse("k")
	if d := left.Until.Sub(left.Now); d > margin || d <= 0 {
		e.Errorf("the lease has %v left, want about %v", d, margin)
	}
	e.advance(margin)
	e.win("k")
}

func noEndlessLease(e *env) {
	for _, d := range []time.Duration{-1, 0, 1, time.Microsecond, 999 * time.Millisecond, semel.MaxLease} {
		req := request(d.String())
		req.Lease = d
		answer, err := e.s.Claim(e.Context(), req)
		if d < semel.MinLease {
			e.invalid("a lease of "+req.Key.ID, err)
			equal(e, "nothing is stored", e.gone(req.Key.ID), true)
			continue
		}
		equal(e, "the length of a lease", answer.Record.Until.Sub(answer.Record.Now), d)
	}
}

func keyLengths(e *env) {
	for _, letter := range []string{"a", "ж", "語", "🔑", "\x00", "\xe9"} {
		for n := range 300 {
			text := fmt.Sprint(n, letter)
			for len(text) < n {
				text += letter
			}
			k := semel.Key{Scope: "storetest", ID: text}
			req := request("")
			req.Key = k
			_, err := e.s.Claim(e.Context(), req)
			if k.Check() != nil {
				e.invalid(fmt.Sprintf("a key of %d bytes", len(text)), err)
			} else if err != nil {
				e.Errorf("a key of %d bytes of %q: %v", len(text), letter, err)
			}
		}
	}
}

func prunedEmpty(e *env) {
	for i := range 300 {
		e.claim(request(fmt.Sprint(i)))
	}
	e.advance(lease + keep + coarse(lease+keep))
	for e.prune(100).Records > 0 {
	}
	for i := range 300 {
		equal(e, "a key is gone", e.gone(fmt.Sprint(i)), true)
	}
	if s, ok := e.s.(semel.Statser); ok {
		st, err := s.Stats(e.Context())
		equal(e, "error", err, nil)
		equal(e, "Stats", st, semel.Stats{})
	}
}

func twoConsumers(e *env) {
	for _, won := range []bool{true, false} {
		for _, scope := range []string{"A", "B"} {
			req := request("m")
			req.Key.Scope = scope
			equal(e, "Won by consumer "+scope, e.claim(req).Won, won)
		}
	}
}

func duplicateAmongMany(e *env) {
	for _, i := range []int{0, 50, 99} {
		e.change(e.win(fmt.Sprint(i)), complete("result"))
	}
	won, done := 0, 0
	for i := range 100 {
		answer := e.claim(request(fmt.Sprint(i)))
		if answer.Won {
			won++
		} else if answer.Record.State == semel.Done {
			done++
		}
	}
	equal(e, "won", won, 97)
	equal(e, "done", done, 3)
}

func requeued(e *env) {
	for n := range 3 {
		rec := e.win("m")
		equal(e, "Attempts", rec.Attempts, n+1)
		e.change(rec, release())
	}
	done := e.change(e.win("m"), complete("result"))
	equal(e, "Attempts", done.Attempts, 4)
	e.refuse("m")
}

func fixedWindow(e *env) {
	var runs []int
	for half := range 7 {
		answer := e.attempt("m")
		if answer.Won {
			runs = append(runs, half)
			e.change(answer.Record, complete("result"))
		}
		e.advance(window / 2)
	}
	equal(e, "the halves in which it ran", fmt.Sprint(runs), "[0 2 4 6]")
}

func restarted(e *env) {
	e.win("held")
	e.change(e.win("done"), complete("result"))
	e.s = e.h.Reopen(e, e.s)
	e.refuse("held")
	e.text("Result", e.refuse("done").Result, []byte("result"))
	e.advance(lease)
	e.win("held")
	e.s = e.h.Reopen(e, e.s)
	equal(e, "Attempts", e.refuse("held").Attempts, 2)
}

func firstOfMany(e *env) {
	for i := range 3000 {
		answer := e.claim(request(fmt.Sprint(i)))
		if !answer.Won {
			e.Fatalf("key %d is not won", i)
		}
		if i%1000 == 0 {
			e.change(answer.Record, complete("result"))
		}
	}
	e.prune(10000)
	for i := range 3000 {
		equal(e, "Won twice", e.claim(request(fmt.Sprint(i))).Won, false)
	}
}

func claimAlone(e *env) {
	for n := range 3 {
		e.refuseWhileHeld(n)
		e.advance(lease)
	}
	e.change(e.win("m"), complete("result"))
	e.refuse("m")
}

func (e *env) refuseWhileHeld(n int) {
	equal(e, "Attempts", e.win("m").Attempts, n+1)
	equal(e, "State told to a duplicate", e.refuse("m").State, semel.Held)
}

func stalledHolder(e *env) {
	a := e.win("k")
	e.advance(2 * lease)
	b := e.win("k")
	for _, c := range []semel.Change{renew(lease), mark("a"), complete("a"), bury("a")} {
		equal(e, "Token of the error's record", e.lose(a, c).Token, b.Token)
	}
	done := e.change(b, complete("b"))
	e.lose(a, complete("a"))
	e.text("Result", e.get("k").Result, []byte("b"))
	equal(e, "Attempt", done.Attempt, b.Attempt)
}

func lateRelease(e *env) {
	a := e.win("k")
	e.advance(lease)
	b := e.win("k")
	e.lose(a, release())
	e.refuse("k")
	e.stands(b)
}

func missedRenewals(e *env) {
	rec := e.win("k")
	for range 10 {
		e.advance(lease * 9 / 10)
		rec = e.change(rec, renew(lease))
		e.instant("Until", rec.Until, rec.Now.Add(lease))
	}
	e.change(rec, complete("result"))
}

func deadForAWhile(e *env) {
	e.change(e.win("dead"), bury("exit 1"))
	e.change(e.win("failed"), release())
	e.refuse("dead")
	e.win("failed")
	e.advance(window)
	e.win("dead")
}

func oddWindows(e *env) {
	for _, d := range []time.Duration{1, 999 * time.Microsecond, 1_500_001, time.Millisecond, 999 * time.Millisecond, time.Second, semel.MaxWindow, 100 * 365 * 24 * time.Hour, 1<<63 - 1} {
		rec := e.win(d.String())
		c := complete("result")
		c.For = d
		got, err := e.s.Update(e.Context(), rec.Key, rec.Token, c)
		if errors.Is(c.Check(), semel.ErrInvalid) {
			e.invalid("a window of "+d.String(), err)
			e.stands(rec)
			continue
		}
		equal(e, "error", err, nil)
		equal(e, "the length of a window", got.Until.Sub(got.Now), d)
		e.instant("Until when read", e.get(d.String()).Until, got.Until)
	}
}

func collations(e *env) {
	texts := []string{"A", "a", "a ", "á", "a\u0301", "ß", "ss", "é", "e\u0301"}
	for _, text := range texts {
		e.win(text)
	}
	for _, text := range texts {
		equal(e, fmt.Sprintf("Attempts of %q", text), e.refuse(text).Attempts, 1)
	}
}

func loserSees(e *env) {
	winner := request("k")
	e.claim(winner)
	answer := e.claim(request("k"))
	equal(e, "Won", answer.Won, false)
	equal(e, "Attempt shown", answer.Record.Attempt, winner.Attempt)
	equal(e, "Key shown", answer.Record.Key, winner.Key)
}

func storeClock(e *env) {
	e.advance(1000 * time.Hour) // nobody else's clock goes that far
	rec := e.win("k")
	e.instant("Until", rec.Until, rec.Now.Add(lease))
	if ahead := time.Until(rec.Now); ahead < 999*time.Hour {
		e.Errorf("the store's time is %v ahead, want 1000h", ahead)
	}
	e.refuse("k")
	e.advance(lease)
	e.win("k")
}
