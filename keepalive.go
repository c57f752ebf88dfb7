package semel

import "context"

// KeepAlive renews the lease until stop is called, as [Keeper.Do] does, for
// those who claim by themselves. The context that it returns ends when the
// lease is lost, with ErrLost as its cause; call stop before the lease is ended.
func (l *Lease) KeepAlive(ctx context.Context) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancelCause(ctx)
	renewing := make(chan struct{})
	renew, end := context.WithCancel(alive)
	go func() {
		defer close(renewing)
		l.keepAlive(renew, cancel)
	}()
	return alive, func() {
		end()
		<-renewing
	}
}

// EndLapsed is the end of a lease that its holder left alone.
const EndLapsed End = "lapsed"

// Lapse leaves the lease alone without a word to the store: it holds copies off
// until it has run out. Then the next attempt takes over, or the key is in
// doubt if it is marked. A late outcome can still be recorded.
func (l *Lease) Lapse(why string) { l.end(EndLapsed, why, Record{}) }
