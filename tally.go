package semel

import "sync"

// tally counts what is under way, and tells when nothing is. The zero tally is
// ready to use.
type tally struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed while n is zero; nil: nobody has counted yet
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// nothing returns a channel that is closed when nothing is under way.
func (t *tally) nothing() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.none == nil {
		t.none = make(chan struct{})
		close(t.none)
	}
	return t.none
}
