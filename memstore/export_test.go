package memstore

import "time"

// NewColliding returns a store in which any two keys may have the same hash.
func NewColliding() *Store {
	s := New()
	s.mask = 15
	return s
}

// Advance moves the clock of s forward.
func (s *Store) Advance(d time.Duration) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
	s.started += d.Microseconds()
	for i := range s.shards {
		s.shards[i].mu.Unlock()
	}
}
