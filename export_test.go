package semel

import "time"

// Kept returns how many keys and scopes k remembers anything about.
func (k *Keeper) Kept() (watched, scopes, asking int) {
	k.watch.mu.Lock()
	watched = len(k.watch.keys)
	k.watch.mu.Unlock()
	k.quota.mu.Lock()
	scopes = len(k.quota.scopes)
	k.quota.mu.Unlock()
	k.asking.Range(func(any, any) bool { asking++; return true })
	return watched, scopes, asking
}

// Undoing returns how many claims without an answer are being undone.
func (k *Keeper) Undoing() int {
	k.undo.mu.Lock()
	defer k.undo.mu.Unlock()
	return k.undo.n
}

// Count adds a new key of scope to the quota.
func (k *Keeper) Count(scope string) { k.quota.count(scope, k.opts.Window) }

const MaxScopes = maxScopes

func Until(end, now time.Time) time.Duration { return until(end, now) }
