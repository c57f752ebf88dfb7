package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/history"
)

// The concurrent cases. Their name begins with "race"; what a failure needs to
// be understood is in the history that it saves.
var raceCases = []testCase{
	{name: "race: of many claims of a new key exactly one wins, and the others are told", run: raceNew},
	{name: "race: of many claims of a lapsed key exactly one wins", run: raceLapsed},
	{name: "race: of two different ends exactly one applies", run: raceEnds},
	{name: "race: a prune never removes what a claim has just taken", run: racePrune},
	{name: "race: a renewing holder is never taken over", run: raceRenewal},
	{name: "race: the rules allow what many workers did to few keys", run: raceHistory},
	// C037 Loser re-reads, finds nothing, and goes ahead without a claim
	// (granit-fx/granit-dotnet#1151).
	{name: "race: C037: holders of keys that expire at once never overlap", run: raceOverlap},
	// C072 Reaper frees the lock of a job that is still running
	// (zoolutions/sidekiq-unique-jobs#488).
	{name: "race: C072: a sweeper takes nothing from whoever renews", run: raceSweeper},
	// C110 32-bit lock keys and lock order (DeytaHQ/khora#738).
	{name: "race: C110: claims of the same keys in opposite order do not wait for each other", run: raceOrder},
}

const (
	racers = 8
	rounds = 20
)

// together calls f n times at once and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

// racing claims the key by many attempts that saw v, and returns the answers.
func (e *env) racing(id string, v semel.Version) []semel.Answer {
	answers := make([]semel.Answer, racers)
	together(racers, func(i int) {
		var err error
		if answers[i], err = e.s.Claim(e.Context(), request(id, seeing(v))); err != nil {
			e.Errorf("claim of %q: %v", id, err)
		}
	})
	return answers
}

// oneWinner fails the case unless exactly one of answers won, and the others
// were told of it.
func (e *env) oneWinner(answers []semel.Answer) {
	e.Helper()
	won := 0
	var winner semel.Record
	for _, a := range answers {
		if a.Won {
			won++
			winner = a.Record
		}
	}
	equal(e, "the number of winners", won, 1)
	for _, a := range answers {
		equal(e, "Token told", a.Record.Token, winner.Token)
		equal(e, "Attempt told", a.Record.Attempt, winner.Attempt)
	}
}

func raceNew(e *env) {
	for i := range rounds {
		e.oneWinner(e.racing(fmt.Sprint(i), semel.Version{}))
	}
}

func raceLapsed(e *env) {
	e.win("k")
	for range rounds {
		e.advance(lease)
		e.oneWinner(e.racing("k", e.version("k")))
	}
}

func raceEnds(e *env) {
	for i := range rounds {
		rec := e.win(fmt.Sprint(i))
		all := ends()
		errs := make([]error, len(all))
		together(len(all), func(i int) { _, errs[i] = e.s.Update(e.Context(), rec.Key, rec.Token, all[i]) })
		applied := 0
		for _, err := range errs {
			if err == nil {
				applied++
			} else if !errors.Is(err, semel.ErrLost) {
				e.Errorf("error %v, want ErrLost", err)
			}
		}
		equal(e, "the number of ends that applied", applied, 1)
	}
}

func racePrune(e *env) {
	e.win("k")
	for range rounds {
		e.advance(lease + keep)
		seen := e.version("k")
		var won semel.Record
		together(3, func(i int) {
			if i > 0 {
				e.s.Prune(e.Context(), 10)
				return
			}
			if a, err := e.s.Claim(e.Context(), request("k", seeing(seen))); err != nil {
				e.Errorf("claim: %v", err)
			} else if a.Won {
				won = a.Record
			}
		})
		if won.Token == 0 { // pruned first
			won = e.win("k")
		}
		e.stands(won)
	}
}

func raceRenewal(e *env) {
	rec := e.win("k")
	for range rounds {
		e.advance(lease - margin)
		together(racers, func(i int) {
			if i == 0 {
				if _, err := e.s.Update(e.Context(), rec.Key, rec.Token, renew(lease)); err != nil {
					e.Errorf("renewal: %v", err)
				}
				return
			}
			now, err := e.s.Get(e.Context(), rec.Key)
			if err != nil {
				e.Errorf("get: %v", err)
			}
			if a, err := e.s.Claim(e.Context(), request("k", seeing(now.Version()))); err != nil || a.Won {
				e.Errorf("claim of a held key: won %v, error %v", a.Won, err)
			}
		})
	}
	equal(e, "Token", e.get("k").Token, rec.Token)
}

func raceHistory(e *env) {
	for seed := range uint64(3) {
		var r history.Recorder
		load := history.Load{Seed: seed, Workers: racers, Keys: 3, Steps: 40, Advance: e.advance}
		load.Run(e.Context(), history.Store{Store: e.s, To: &r})
		r.Verify(e)
		e.s = e.h.Open(e) // the next run begins with nothing
	}
}

func raceOverlap(e *env) {
	short := func(req *semel.Request) { req.Lease, req.Keep = semel.MinLease, time.Millisecond }
	var mu sync.Mutex
	until := map[string]time.Time{} // the end of each key's last lease
	together(racers, func(i int) {
		for n := range 5 * rounds {
			id := fmt.Sprint((i + n) % 3)
			rec, err := e.s.Get(e.Context(), key(id))
			if err != nil && !errors.Is(err, semel.ErrNotFound) {
				e.Errorf("get: %v", err)
			}
			a, err := e.s.Claim(e.Context(), request(id, short, seeing(rec.Version())))
			if err != nil {
				e.Errorf("claim: %v", err)
			}
			if i == 0 {
				e.s.Prune(e.Context(), 10)
				e.advance(semel.MinLease / 2)
			}
			if a.Won {
				mu.Lock()
				if before := a.Record.Until.Add(-semel.MinLease); !a.Record.Now.Equal(before) {
					e.Errorf("a lease begins at %v, was answered at %v", before, a.Record.Now)
				}
				if last := until[fmt.Sprint(id, a.Before.Token)]; a.Record.Now.Before(last) {
					e.Errorf("a lease begins at %v, the one before ends at %v", a.Record.Now, last)
				}
				until[fmt.Sprint(id, a.Record.Token)] = a.Record.Until
				mu.Unlock()
			}
		}
	})
}

func raceSweeper(e *env) {
	var recs []semel.Record
	for i := range 20 {
		recs = append(recs, e.win(fmt.Sprint(i)))
	}
	for range 30 {
		e.advance(lease - margin)
		together(2, func(i int) {
			for _, rec := range recs {
				if i == 1 {
					e.s.Prune(e.Context(), 100)
				} else if _, err := e.s.Update(e.Context(), rec.Key, rec.Token, renew(lease)); err != nil {
					e.Errorf("renewal: %v", err)
				}
			}
		})
	}
	for _, rec := range recs {
		equal(e, "Token", e.get(rec.Key.ID).Token, rec.Token)
	}
}

func raceOrder(e *env) {
	for n := range 5 * rounds {
		ids := []string{fmt.Sprint("a", n), fmt.Sprint("b", n)}
		wins := make([]int, len(ids))
		var mu sync.Mutex
		together(2, func(i int) {
			for j := range ids {
				at := (i + j) % len(ids)
				a, err := e.s.Claim(e.Context(), request(ids[at]))
				if err != nil {
					e.Errorf("claim: %v", err)
				}
				mu.Lock()
				if a.Won {
					wins[at]++
				}
				mu.Unlock()
			}
		})
		equal(e, "the winners of each key", fmt.Sprint(wins), "[1 1]")
	}
}
