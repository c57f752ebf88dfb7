package semel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A waiting claim polls its key: soon at first, then less and less often.
const (
	minPoll = 25 * time.Millisecond
	maxPoll = time.Second
)

// watch lets any number of claims of this process wait for a key with one
// poller. The zero watch is ready to use.
type watch struct {
	mu   sync.Mutex
	keys map[Key]*watched
}

type watched struct {
	waiting int
	changed chan struct{}      // closed when the key may be claimable or finished
	rec     Record             // what the poller then saw; set before changed is closed
	poked   chan struct{}      // capacity 1: this process has changed the record
	cancel  context.CancelFunc // stops the poller when nobody waits any more
}

// wait returns what stands and true when key's holder may have ended, and
// false when patience or ctx ends first. A waiter that leaves touches nothing.
func (w *watch) wait(ctx context.Context, k *Keeper, key Key, patience time.Duration) (Record, bool) {
	t := w.join(k, key) //nolint:contextcheck // the poller serves all who wait, whoever leaves
	defer w.leave(key, t)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-t.changed:
		return t.rec, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return Record{}, false
}

func (w *watch) join(k *Keeper, key Key) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.keys[key]
	if t == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t = &watched{changed: make(chan struct{}), poked: make(chan struct{}, 1), cancel: cancel}
		if w.keys == nil {
			w.keys = make(map[Key]*watched)
		}
		w.keys[key] = t
		go func() {
			if rec, changed := k.poll(ctx, key, t.poked); changed {
				w.announce(key, t, rec)
			}
		}()
	}
	t.waiting++
	return t
}

func (w *watch) leave(key Key, t *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.waiting--; t.waiting == 0 {
		t.cancel()
		if w.keys[key] == t {
			delete(w.keys, key)
		}
	}
}

// announce wakes those who wait; who comes later starts a poller anew.
func (w *watch) announce(key Key, t *watched, rec Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys[key] == t {
		delete(w.keys, key)
	}
	t.rec = rec
	close(t.changed)
}

// poke tells the poller of key, if there is one, to look now.
func (w *watch) poke(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.keys[key]; t != nil {
		select {
		case t.poked <- struct{}{}:
		default:
		}
	}
}

// poll returns what stands and true when key is no longer held in trust or
// backing off, and false when ctx ends.
func (k *Keeper) poll(ctx context.Context, key Key, poked <-chan struct{}) (Record, bool) {
	var seen Version
	for n := 1; k.nap(ctx, key, seen, poked, backOff(minPoll, maxPoll, n)); n++ {
		rec, err := k.Get(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
			return Record{}, true
		case err != nil: // the store is away: whoever waits has a limit
		case rec.State == Done, rec.State == Dead, rec.Lapsed(), rec.Claimable(false):
			return rec, true
		default:
			seen = rec.Version()
		}
	}
	return Record{}, false
}

// nap waits for d at most: less if this process pokes, or a store that is a
// [Waiter] sees a change.
func (k *Keeper) nap(ctx context.Context, key Key, seen Version, poked <-chan struct{}, d time.Duration) bool {
	nctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if waiter, ok := k.store.(Waiter); ok && seen.Token != 0 {
		go func() {
			// An early return is harmless, and so is an error: both end the nap
			// at worst too soon.
			if waiter.Wait(nctx, key, seen) == nil {
				cancel()
			}
		}()
	}
	select {
	case <-poked:
	case <-nctx.Done():
	}
	return ctx.Err() == nil
}
