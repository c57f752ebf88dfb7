package httpkey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crash"
)

// exchange is one guarded request and its answer.
type exchange struct {
	*guard
	w           http.ResponseWriter
	r           *http.Request
	start       time.Time
	id          string // the key as the client gave it
	noKey       bool   // and the method is guarded
	key         semel.Key
	body        []byte
	fingerprint []byte
}

// maxTarget bounds the path and the query in a note, each in bytes. As JSON a
// byte takes six at most, so that a note always fits.
const maxTarget = 4 << 10

// note is what the lease is marked with: enough to ask the upstream later.
func (x *exchange) note() []byte {
	n := Note{Method: x.r.Method, Path: x.r.URL.EscapedPath(), Query: x.r.URL.RawQuery, Route: x.opts.Route}
	// A part of either would name something else.
	if len(n.Path) > maxTarget {
		n.Path = ""
	}
	if len(n.Query) > maxTarget {
		n.Query = ""
	}
	note, err := json.Marshal(n)
	if err != nil { // strings only
		panic(err)
	}
	return note
}

// Note is what a guarded request's lease is marked with, as JSON: what a
// RecoverFunc has to go on, beside the key.
type Note struct {
	Method string `json:"method"`
	Path   string `json:"path"`            // escaped; empty if it is longer than 4 KiB
	Query  string `json:"query,omitempty"` // likewise
	Route  string `json:"route,omitempty"`
}

// serve claims and answers as if the client were there to the end: whether it
// has left or has only closed its half of the connection cannot be told, and
// the answer is recorded for its retry in any case.
func (x *exchange) serve() {
	crowd := x.enter(x.key)
	defer x.leave(x.key)
	if x.opts.Shadow {
		x.shadow()
		return
	}
	lease, rec, err := x.keeper.Claim(context.WithoutCancel(x.r.Context()), x.key, x.claimOptions(x.wait(crowd)))
	switch {
	case lease != nil:
		x.execute(lease)
	case err == nil:
		x.replay(&rec)
	default:
		x.refusal(&rec, err)
	}
}

// execution is a handler at work, which may outlive the exchange that began it.
type execution struct {
	*exchange
	lease    *semel.Lease
	capture  *capture
	handled  chan struct{} // closed when the handler has ended
	panicked any           // set before handled is closed
	done     chan struct{} // closed when the outcome is recorded, or cannot be
	result   Result        // set before done is closed
}

// recordPatience is how long an answer is held back until its outcome is
// recorded. A store that takes longer must not turn a success into an error:
// the client gets the answer, marked as unrecorded, and recording goes on.
const recordPatience = 2 * time.Second

func (x *exchange) execute(lease *semel.Lease) {
	crash.At("claimed")
	e := &execution{exchange: x, lease: lease, handled: make(chan struct{}), done: make(chan struct{}), result: Executed}
	e.capture = newCapture(x.w, x.opts.MaxResponse, func(h http.Header, result Result) {
		x.echo(h)
		h.Set(statusField, string(result))
	})
	go e.run(context.WithoutCancel(x.r.Context()))
	timer := time.NewTimer(x.opts.Answer)
	defer timer.Stop()
	select {
	case <-e.handled:
	case <-timer.C:
		if e.capture.detach() {
			p := x.problem("outcome-unknown", "The upstream has not answered in time. Repeat the request with the same key to learn its outcome.")
			p.Status = http.StatusGatewayTimeout
			p.After(x.retryAfter(0)).refuse(Detached)
			return
		}
		<-e.handled // the answer is already on its way
	}
	result := e.recorded()
	if e.panicked != nil {
		panic(e.panicked)
	}
	crash.At("completed")
	e.capture.send(result)
	x.report(result, "")
}

// recorded waits for the outcome to be recorded, but not for long.
func (e *execution) recorded() Result {
	timer := time.NewTimer(recordPatience)
	defer timer.Stop()
	select {
	case <-e.done:
		return e.result
	case <-timer.C:
		return Unrecorded
	}
}

// run calls the handler with the lease renewed, and records its outcome.
func (e *execution) run(ctx context.Context) {
	defer close(e.done)
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, leaseKey{}, e.lease), e.opts.Deadline)
	defer cancel()
	alive, stop := e.lease.KeepAlive(ctx)
	start := time.Now()
	// Deferred for a handler that ends its goroutine, which nothing recovers.
	defer func() {
		e.latency.add(time.Since(start))
		stop()
		close(e.handled)
		crash.At("answered")
		e.record(context.WithoutCancel(ctx))
	}()
	e.call(alive)
}

func (e *execution) call(ctx context.Context) {
	returned := false
	defer func() {
		if e.panicked = recover(); e.panicked == nil && !returned {
			e.panicked = http.ErrAbortHandler
		}
		e.capture.end(returned)
	}()
	if err := e.lease.Start(); err != nil {
		e.capture.Header().Set(effectField, outcomeNone)
		e.problem("store-unavailable", "The claim on the key ended before the request could be sent.").Write(e.capture)
	} else {
		e.next.ServeHTTP(e.capture, e.request(ctx))
	}
	returned = true
}

// record ends the lease as the answer demands.
func (e *execution) record(ctx context.Context) {
	var err error
	switch fate, why := e.fate(); fate {
	case fateDone:
		err = e.complete(ctx)
	case fateFree:
		err = e.lease.ReleaseWith(ctx, semel.ReleaseOptions{Why: why})
	case fateDoubt:
		err = e.lease.Doubt(ctx, why)
	case fateLapse:
		e.lease.Lapse(why)
	}
	if err != nil {
		e.result = Unrecorded
	}
}

func (e *execution) complete(ctx context.Context) error {
	c := e.capture
	a := answer{
		Status: c.status, Header: keep(c.head, c.status, e.opts.StoredFields),
		Ambiguous: ambiguous(c.status), Body: c.buf.Bytes(),
	}
	kept := semel.Kept("")
	switch {
	case e.panicked != nil:
		kept = semel.KeptTruncated
	case c.over:
		kept = semel.KeptTooLarge
	case c.live:
		kept = semel.KeptStreamed
	}
	if kept != "" {
		a.Body = nil
	}
	stored := a.encode()
	crash.At("completing")
	return e.lease.CompleteKept(ctx, stored, kept, c.size)
}

// fate is what becomes of a key after its handler has ended.
type fate uint8

const (
	fateDone fate = iota
	fateFree
	fateDoubt
	fateLapse // not freed, but left to run out
)

// fate judges the answer: a key is freed only on proof that nothing happened.
func (e *execution) fate() (fate, string) {
	c := e.capture
	broke := e.panicked != nil
	// A handler that aborts after its head, as a proxy does when the upstream
	// breaks off, has an outcome; only the answer's rest is missing.
	noOutcome := broke && (c.status == 0 || e.panicked != http.ErrAbortHandler) //nolint:errorlint // a panic value, compared as net/http does
	switch effect := c.signal(); {
	case effect == outcomeNone:
		return fateFree, "the handler reports no effect"
	case noOutcome:
		return e.unknown("the handler panicked")
	case effect == outcomeApplied:
		return fateDone, ""
	case effect == outcomeUnknown:
		return e.unknown("the handler reports an unknown effect")
	case slices.Contains(e.opts.NotProcessed, c.status):
		return fateFree, fmt.Sprintf("status %d: not processed", c.status)
	case !ambiguous(c.status):
		return fateDone, ""
	}
	switch e.opts.OnAmbiguous {
	case Release:
		return fateFree, fmt.Sprintf("status %d, released as configured", c.status)
	case Hold, Probe:
		return fateDoubt, fmt.Sprintf("status %d is ambiguous", c.status)
	}
	return fateDone, ""
}

// unknown is the fate of a key whose effect may have happened.
func (e *execution) unknown(why string) (fate, string) {
	if e.opts.Guarantee == AtLeastOnce {
		return fateLapse, why
	}
	return fateDoubt, why
}

// ambiguous reports whether a status leaves open what happened.
func ambiguous(status int) bool { return status >= 500 || status == http.StatusRequestTimeout }

// shadow lets the request through and notes what would have been done.
func (x *exchange) shadow() {
	lease, rec, err := x.keeper.Claim(context.WithoutCancel(x.r.Context()), x.key, x.claimOptions(-1))
	if lease != nil {
		defer func() {
			// Shadow keeps no answers. What cannot be recorded is not watched.
			_ = lease.CompleteKept(context.WithoutCancel(x.r.Context()), nil, semel.KeptNone, 0)
		}()
	}
	x.next.ServeHTTP(x.w, x.request(x.r.Context()))
	switch {
	case lease != nil:
		x.report(Executed, "")
	case err == nil:
		x.report(Replayed, "")
	default:
		p, result := x.refused(&rec, err)
		x.report(result, p.Code)
	}
}

// replay answers with what is kept of the first answer.
func (x *exchange) replay(rec *semel.Record) {
	result := Replayed
	if rec.Now.Sub(x.completed(rec)) < time.Since(x.start) {
		result = Waited // it was completed after this request came
	}
	a, err := decode(rec.Result)
	switch {
	case rec.Kept == semel.KeptExpired:
		x.about(x.problem("result-expired", "The answer to this request was kept for "+x.opts.ResultFor.String()+"."), rec).refuse(result)
		return
	case err != nil || rec.Kept != "":
		p := x.about(x.problem("result-unavailable", "The answer to this request was not kept: "+string(rec.Kept)+"."), rec)
		if a != nil {
			p.FirstStatus = a.Status
			if location := a.Header.Get("Location"); location != "" {
				x.w.Header().Set("Location", location)
			}
		}
		p.refuse(result)
		return
	}
	h := x.w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	x.echo(h)
	h.Set(replayedField, "true")
	h.Set(statusField, string(Replayed))
	x.w.WriteHeader(a.Status)
	_, _ = x.w.Write(a.Body)
	x.report(result, "")
}

// refusal answers a request that was not allowed to run.
func (x *exchange) refusal(rec *semel.Record, err error) {
	p, result := x.refused(rec, err)
	if result == Refused && x.opts.FailOpen && p.Code == "store-unavailable" && !errors.Is(err, semel.ErrInvalid) {
		x.w.Header().Set(statusField, string(Bypassed))
		x.next.ServeHTTP(x.w, x.request(x.r.Context()))
		x.report(Bypassed, "")
		return
	}
	p.refuse(result)
}

// refused says why a request was not allowed to run.
func (x *exchange) refused(rec *semel.Record, err error) (*reply, Result) {
	var dead *semel.DeadError
	var quota *semel.QuotaError
	switch {
	case errors.Is(err, semel.ErrMismatch):
		p := x.about(x.problem("key-reused", "This key belongs to a request that differs from this one."), rec)
		p.Mismatch = differs(rec.Fingerprint, x.fingerprint)
		return p, Reused
	case errors.Is(err, semel.ErrInDoubt):
		p := x.about(x.problem("outcome-unknown", "An earlier request with this key ended without an answer. It is not run again until its outcome is known."), rec)
		return p.After(10 * time.Second), InDoubt
	case errors.Is(err, semel.ErrBusy):
		p := x.about(x.problem("in-progress", "Repeat the request with the same key to get its answer."), rec)
		wait := x.retryAfter(rec.Now.Sub(rec.Created))
		if rec.State == semel.Free {
			wait = rec.NotBefore.Sub(rec.Now)
		}
		return p.After(wait), InProgress
	case errors.As(err, &dead):
		p := x.about(x.problem("result-unavailable", "The work of this key was given up for good."), rec)
		p.Title, p.Outcome = "The request failed for good", outcomeUnknown
		return p, Refused
	case errors.As(err, &quota):
		return x.problem("quota-exceeded", "This caller has too many new keys, or too many whose outcome is unknown.").After(time.Minute), Refused
	}
	return x.problem("store-unavailable", "Nothing was sent. Repeat the request with the same key.").After(jitter(2 * time.Second)), Refused
}
