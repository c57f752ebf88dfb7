package semel

import (
	"context"
	"time"
)

// KeepAlive renews the lease until stop is called, as [Keeper.Do] does, for
// those who claim by themselves. The context that it returns ends with ctx, when
// stop is called, and when the lease is lost or cannot be trusted any more, then
// with ErrLost as its cause. Call stop before the lease is ended.
func (l *Lease) KeepAlive(ctx context.Context) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancelCause(ctx)
	renewing := make(chan struct{})
	// Most work is over before its first renewal is due: no goroutine until then.
	timer := time.AfterFunc(l.claim.opts.Lease/3, func() {
		defer close(renewing)
		l.keepAlive(alive, cancel)
	})
	return alive, func() {
		cancel(nil)
		if timer.Stop() {
			close(renewing)
		}
		<-renewing
	}
}

// EndLapsed is the end of a lease that its holder left alone.
const EndLapsed End = "lapsed"

// Lapse leaves the lease alone without a word to the store: it holds copies off
// until it has run out. Then the next attempt takes over, or the key is in
// doubt if it is marked. A late outcome or doubt can still be recorded, and a
// deferred Release does nothing. After another end Lapse does nothing.
func (l *Lease) Lapse(why string) {
	l.ending <- struct{}{}
	defer func() { <-l.ending }()
	l.mu.Lock()
	over := l.said != "" || l.ended != ""
	if !over {
		l.said = EndLapsed
	}
	l.mu.Unlock()
	if !over {
		l.end(EndLapsed, why, Record{})
	}
}
