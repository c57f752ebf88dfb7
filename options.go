package semel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"time"
)

// Options configure a [Keeper]. Nil, and the zero value of each field, mean
// the default that the field names. Durations are rounded up to whole
// milliseconds.
type Options struct {
	// Window is how long a done key is remembered, counted from its
	// completion. It must exceed the horizon: the longest time after which a
	// duplicate can still arrive. Default 72 h.
	Window time.Duration
	// ResultFor is how long results are kept. Default: as long as the key.
	ResultFor time.Duration
	// Lease is how long an attempt holds a key without renewing. Default 30 s.
	Lease time.Duration
	// Keep is how long a record is remembered beyond its end, so that late
	// copies and fallen clocks find it. Default: a tenth of the window, at
	// least 1 h.
	Keep time.Duration
	// Wait is how long a claim waits for a key that another attempt holds.
	// Default: not at all.
	Wait time.Duration
	// BackOff is how long a key is not claimable after its first failure; it
	// doubles with each attempt up to MaxBackOff, and up to half of it is taken
	// off at random. Default 1 s; negative: none.
	BackOff time.Duration
	// Timeout bounds one call of the store. Default 5 s.
	Timeout time.Duration
	// MaxResult bounds a result, in bytes. A larger one is not kept, the key is
	// done all the same. Default 1 MiB.
	MaxResult int
	// MaxNew bounds the new keys of one scope within a window, counted in this
	// process. Default: no bound.
	MaxNew int
	// MaxInDoubt bounds the keys in doubt of one scope: beyond it the scope gets
	// no new keys. It needs a store that is a [Lister], whose list is read at
	// most every 5 s. Default 1,000; negative: no bound.
	MaxInDoubt int
	// Recover is asked about keys in doubt, see [RecoverFunc]. Default: nobody
	// is asked, such keys answer ErrInDoubt until they are settled.
	Recover RecoverFunc
	// EffectDeadline is the longest time after which an effect that was sent
	// can still happen. "It did not happen" is believed only when it has passed
	// since the lapsed lease ended. Default 5 min.
	EffectDeadline time.Duration
	// Secret keys [Lease.DerivedKey]. Default: none, derived keys can then be
	// computed by whoever knows the key.
	Secret []byte
	// By names this process in records. Default: host name and process id.
	By string
	// Observer hears what happens. Default: nobody does.
	Observer *Observer
}

// MaxBackOff bounds the back-off that doubles with each failed attempt.
const MaxBackOff = 5 * time.Minute

// ClaimOptions configure one claim. Nil, and the zero value of each field,
// mean the Keeper's setting or nothing.
type ClaimOptions struct {
	// Fingerprint is a digest of the request's meaning: it tells a retry from a
	// reused key. Nil: not compared.
	Fingerprint []byte
	// Same compares a stored fingerprint with the given one; neither is nil.
	// Default bytes.Equal.
	Same func(stored, given []byte) bool
	// Note marks the lease from the start if it is not nil: an attempt that ends
	// without an outcome leaves the key in doubt instead of free. It is what a
	// [RecoverFunc] or an operator needs to find out what happened.
	Note []byte
	// Lease, Window, ResultFor and Wait replace the Keeper's. A negative Wait
	// means not to wait.
	Lease, Window, ResultFor, Wait time.Duration
	// Source says why there may be another attempt. Default: the context's, see
	// WithSource.
	Source Source
	// By names the claimer. Default: the Keeper's.
	By string
	// Recover replaces the Keeper's.
	Recover RecoverFunc
}

func withDefaults(o Options) Options {
	o.Window = ms(cmp.Or(o.Window, 72*time.Hour))
	o.ResultFor = ms(o.ResultFor)
	o.Lease = ms(cmp.Or(o.Lease, 30*time.Second))
	o.Keep = ms(cmp.Or(o.Keep, max(time.Hour, o.Window/10)))
	o.Wait = ms(o.Wait)
	o.BackOff = ms(cmp.Or(o.BackOff, time.Second))
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.MaxResult = cmp.Or(o.MaxResult, 1<<20)
	o.MaxInDoubt = cmp.Or(o.MaxInDoubt, 1000)
	o.EffectDeadline = cmp.Or(o.EffectDeadline, 5*time.Minute)
	if o.By == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		o.By = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	o.By = text(o.By)
	if o.Observer == nil {
		o.Observer = &Observer{}
	}
	return o
}

func (o *Options) check() error {
	bounds := []struct {
		name      string
		d         time.Duration
		low, high time.Duration
	}{
		{"window", o.Window, time.Millisecond, MaxWindow},
		{"result retention", o.ResultFor, 0, MaxWindow},
		{"lease", o.Lease, MinLease, MaxLease},
		{"keep", o.Keep, time.Millisecond, MaxWindow},
		{"wait", o.Wait, 0, MaxWindow},
		{"store time-out", o.Timeout, time.Millisecond, time.Hour},
		{"effect deadline", o.EffectDeadline, time.Millisecond, MaxWindow},
	}
	for _, b := range bounds {
		if b.d < b.low || b.d > b.high {
			return fmt.Errorf("%w: %s of %v is outside %v to %v", ErrInvalid, b.name, b.d, b.low, b.high)
		}
	}
	if need := o.Wait + 2*o.Lease + time.Minute; o.Window < need {
		return fmt.Errorf("%w: a window of %v is shorter than wait + 2 × lease + 1 min = %v: a copy could arrive after it was forgotten", ErrInvalid, o.Window, need)
	}
	if o.Timeout >= o.Keep/4 {
		return fmt.Errorf("%w: a store time-out of %v needs a keep of more than four times that, not %v: a late copy of a claim must find its record", ErrInvalid, o.Timeout, o.Keep)
	}
	if o.MaxResult < 0 || o.MaxNew < 0 {
		return fmt.Errorf("%w: MaxResult and MaxNew must not be negative", ErrInvalid)
	}
	return nil
}

// claim is one claim's settings, complete.
type claim struct {
	key         Key
	start       time.Time
	opts        Options // the Keeper's, with this claim's in their place
	fingerprint []byte
	same        func(stored, given []byte) bool
	note        []byte
	source      Source
}

// newClaim fills o's gaps from the Keeper's options and the context.
func (k *Keeper) newClaim(ctx context.Context, key Key, o *ClaimOptions) (*claim, error) {
	if o == nil {
		o = &ClaimOptions{}
	}
	c := &claim{key: key, start: time.Now(), opts: k.opts, fingerprint: o.Fingerprint, same: o.Same, note: o.Note, source: o.Source}
	if o.Window != 0 {
		c.opts.Window = ms(o.Window)
		c.opts.Keep = max(k.opts.Keep, ms(c.opts.Window/10))
	}
	c.opts.ResultFor = cmp.Or(ms(o.ResultFor), k.opts.ResultFor)
	c.opts.Lease = cmp.Or(ms(o.Lease), k.opts.Lease)
	c.opts.Wait = max(0, cmp.Or(ms(o.Wait), k.opts.Wait))
	c.opts.By = cmp.Or(text(o.By), k.opts.By)
	if o.Recover != nil {
		c.opts.Recover = o.Recover
	}
	if c.same == nil {
		c.same = bytes.Equal
	}
	if c.source == "" {
		c.source = sourceOf(ctx)
	}
	c.source = Source(text(string(c.source)))
	return c, cmp.Or(key.Check(), c.opts.check(), checkBytes("fingerprint", c.fingerprint, MaxFingerprintBytes), checkBytes("note", c.note, MaxNoteBytes))
}

// patience returns how long c still waits for another holder.
func (c *claim) patience() time.Duration { return c.opts.Wait - time.Since(c.start) }

// ms rounds d up to a whole millisecond; stores count in these. The longest
// duration is rounded down, so that it does not turn negative.
func ms(d time.Duration) time.Duration {
	const longest = math.MaxInt64 - math.MaxInt64%time.Millisecond
	if r := d % time.Millisecond; r > 0 && d < longest {
		return d - r + time.Millisecond
	}
	return min(d, longest)
}

type sourceKey struct{}

// WithSource returns a context that says why a second attempt at the work may
// exist. Claims made with it carry the source.
func WithSource(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, sourceKey{}, s)
}

func sourceOf(ctx context.Context) Source {
	s, _ := ctx.Value(sourceKey{}).(Source)
	return s
}
