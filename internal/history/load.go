package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// Load is a run of many workers on few keys that do everything a store allows,
// each with no regard for the others.
type Load struct {
	Seed                 uint64
	Workers, Keys, Steps int                 // Steps: claims of each worker
	Advance              func(time.Duration) // moves the store's clock while the workers run
}

// The durations of a run: each step of the clock ends something.
const (
	loadLease  = 10 * time.Second
	loadWindow = 25 * time.Second
	loadKeep   = 5 * time.Second
)

// Run runs the workers on s to their end.
func (l Load) Run(ctx context.Context, s semel.Store) {
	var wg sync.WaitGroup
	for n := range l.Workers {
		wg.Go(func() {
			w := worker{Load: l, ctx: ctx, s: s, rand: rand.New(rand.NewPCG(l.Seed, uint64(n)))}
			for range l.Steps {
				w.step()
			}
		})
	}
	wg.Wait()
}

type worker struct {
	Load
	ctx  context.Context
	s    semel.Store
	rand *rand.Rand
}

func (w *worker) chance(percent int) bool { return w.rand.IntN(100) < percent }

// step claims a key as it stands, and works on it if it wins.
func (w *worker) step() {
	key := semel.Key{Scope: "load", ID: fmt.Sprint(w.rand.IntN(w.Keys))}
	if w.chance(12) {
		w.Advance(time.Duration(1+w.rand.IntN(6)) * time.Second)
	}
	if w.chance(8) {
		w.s.Prune(w.ctx, 1+w.rand.IntN(3))
	}
	rec, err := w.s.Get(w.ctx, key)
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		return
	}
	if (rec.State == semel.Done || rec.State == semel.Dead) && w.chance(15) {
		w.update(rec, semel.Change{From: rec.State, To: semel.Free, For: loadKeep})
		return
	}
	req := semel.Request{
		Key: key, Attempt: semel.NewAttemptID(), Seen: rec.Version(), Lease: loadLease, Keep: loadKeep,
		Recover: w.chance(50), Fingerprint: []byte("print"), By: "worker",
	}
	if w.chance(30) {
		req.Note = []byte("claimed")
	}
	if answer, ok := w.claim(req); ok && answer.Won {
		w.work(answer.Record)
	}
}

// claim sends a claim until it is answered, as whoever gets no answer must, and
// at times once more.
func (w *worker) claim(req semel.Request) (answer semel.Answer, ok bool) {
	for range 4 {
		a, err := w.s.Claim(w.ctx, req)
		if err == nil && !w.chance(10) {
			return a, true
		}
		answer, ok = a, err == nil
	}
	return answer, ok
}

// update sends an update until it is answered.
func (w *worker) update(rec semel.Record, c semel.Change) bool {
	for range 4 {
		_, err := w.s.Update(w.ctx, rec.Key, rec.Token, c)
		if err == nil || errors.Is(err, semel.ErrLost) {
			return err == nil
		}
	}
	return false
}

// work does something with a lease, and ends it or not.
func (w *worker) work(rec semel.Record) {
	held := semel.Change{From: semel.Held, To: semel.Held, For: loadLease}
	for w.chance(40) {
		c := held
		if w.chance(40) {
			c.Note = []byte("sent")
		}
		if !w.update(rec, c) {
			return
		}
	}
	end := semel.Change{From: semel.Held, To: semel.Done, For: loadWindow, By: "worker"}
	switch w.rand.IntN(7) {
	case 0, 1:
		end.Result, end.ResultFor = []byte(fmt.Sprint(rec.Token)), loadKeep
	case 2:
		end.To, end.Result = semel.Dead, []byte("reason")
	case 3:
		end.To, end.Forgive = semel.Free, w.chance(50)
	case 4:
		end.To, end.After = semel.Free, 2*time.Second
	case 5:
		end.To, end.For, end.Note = semel.Held, 0, []byte("doubt")
	case 6:
		return // crashed
	}
	w.update(rec, end)
}
