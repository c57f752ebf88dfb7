package memstore

import "time"

// Advance moves the clock of s forward.
func (s *Store) Advance(d time.Duration) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		defer s.shards[i].mu.Unlock()
	}
	s.started = s.started.Add(d)
}
