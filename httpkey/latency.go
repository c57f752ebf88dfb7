package httpkey

import (
	"slices"
	"sync"
	"time"
)

// latency remembers how long the last executions took, to tell those who wait
// when it is worth while to ask again. The zero latency is ready to use.
type latency struct {
	mu    sync.Mutex
	last  [64]time.Duration
	count int
}

func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[l.count%len(l.last)] = d
	l.count++
}

// p95 returns the 95th percentile, or zero before the first execution.
func (l *latency) p95() time.Duration {
	l.mu.Lock()
	seen := slices.Clone(l.last[:min(l.count, len(l.last))])
	l.mu.Unlock()
	if len(seen) == 0 {
		return 0
	}
	slices.Sort(seen)
	return seen[len(seen)*95/100]
}
