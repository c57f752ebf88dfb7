package httpkey

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// Fields of requests and answers.
const (
	keyField      = "Idempotency-Key"
	statusField   = "Idempotency-Status"
	replayedField = "Idempotent-Replayed"
	effectField   = "Idempotency-Effect"
)

// keyFields are the names under which a key is accepted.
var keyFields = []string{keyField, "X-Idempotency-Key"}

// signalFields are for the guard and its clients: what a handler sets there
// is not passed on.
var signalFields = []string{effectField, statusField, replayedField}

// maxCrowd bounds how many copies of one request wait for the first; the others
// are told at once that it is running.
const maxCrowd = 16

// guard is a handler behind idempotency keys.
type guard struct {
	keeper  *semel.Keeper
	scope   Scope
	next    http.Handler
	opts    Options
	policy  keyPolicy
	latency latency

	mu     sync.Mutex
	crowds map[semel.Key]int // requests under way by key
}

// ServeHTTP checks what can be checked before the body is read, so that a
// client which expects a 100-continue is refused before it sends one.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{guard: g, w: w, r: r, start: time.Now()}
	if !slices.Contains(g.opts.Methods, r.Method) {
		x.ignore()
		return
	}
	id, err := readKey(r.Header, keyFields, g.policy)
	switch {
	case errors.Is(err, errKeyAbsent) && !g.opts.Required:
		x.noKey = true
		x.ignore()
		return
	case err != nil:
		x.noKey = errors.Is(err, errKeyAbsent)
		slug, detail := keyProblem(err)
		x.problem(slug, detail).refuse(Refused)
		return
	}
	x.id = id
	scope, err := g.scope(r)
	if err != nil || scope == "" {
		detail := "The request carries no valid credentials for this route."
		var said ScopeError
		if errors.As(err, &said) {
			detail = said.Error()
		}
		x.problem("scope-unresolved", detail).refuse(Refused)
		return
	}
	if len(scope) > semel.MaxKeyBytes {
		scope = semel.Join(scope)
	}
	x.key = semel.Key{Scope: scope, ID: id}
	if x.read() {
		x.serve() //nolint:contextcheck // what is recorded outlives its client
	}
}

// keyProblem says what is wrong with a request's key, without repeating it.
func keyProblem(err error) (slug, detail string) {
	switch {
	case errors.Is(err, errKeyAbsent):
		return "key-required", "This operation needs the field Idempotency-Key."
	case errors.Is(err, errKeyMultiple):
		return "key-multiple", "The request must carry one key in one field."
	case errors.Is(err, errKeyTooLong):
		return "key-too-long", "A key may have " + strconv.Itoa(maxKeyBytes) + " bytes."
	}
	return "key-malformed", "A key is a quoted string, or visible ASCII without blanks, commas and quotes: " + err.Error() + "."
}

// read takes in the body: a claim needs the whole fingerprint.
func (x *exchange) read() bool {
	limit := x.opts.MaxRequest
	var err error
	if x.r.ContentLength <= limit {
		x.body, err = readAll(x.r.Body, x.r.ContentLength, limit)
	}
	var outer *http.MaxBytesError // of a http.MaxBytesHandler around this one
	tooLarge := x.r.ContentLength > limit || int64(len(x.body)) > limit
	if x.opts.Shadow && (tooLarge || err != nil) {
		x.r.Body = rejoin(x.body, x.r.Body, err) // the handler meets an error where it would have
	}
	switch {
	case tooLarge || errors.As(err, &outer):
		if outer != nil {
			limit = min(limit, outer.Limit)
		}
		x.refuseTooLarge(limit)
		return false
	case err != nil && x.opts.Shadow:
		x.next.ServeHTTP(x.w, x.r)
		x.report(Ignored, "")
		return false
	case err != nil:
		// The client broke off: nothing was claimed, and nobody listens.
		panic(http.ErrAbortHandler)
	}
	x.fingerprint = fingerprint(x.r, x.opts.FingerprintFields, x.body)
	return true
}

// refuseTooLarge also gives the connection up: net/http would otherwise wait for
// more of the body before it sends the answer. HTTP/2 ends just the stream.
func (x *exchange) refuseTooLarge(limit int64) {
	if x.r.ProtoMajor == 1 && !x.opts.Shadow {
		x.w.Header().Set("Connection", "close")
	}
	x.problem("request-too-large", "A guarded request's body may have "+strconv.FormatInt(limit, 10)+" bytes.").refuse(Refused)
}

// readAll reads r to its end, or until it has more than limit. A length that the
// client only announces is believed up to a few pages.
func readAll(r io.Reader, announced, limit int64) ([]byte, error) {
	if r == http.NoBody {
		return nil, nil
	}
	b := make([]byte, 0, min(max(announced, 0), 16<<10)+bytes.MinRead)
	for int64(len(b)) <= limit {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// rejoin puts what was read of a body back before its rest, or before the error
// that ended it.
func rejoin(read []byte, rest io.ReadCloser, err error) io.ReadCloser {
	then := io.Reader(rest)
	if err != nil {
		then = broken{err}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), then), rest}
}

// broken is a reader that always fails: net/http's own body tells an error once.
type broken struct{ error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.error }

// echo repeats the key's field in an answer, as the client wrote it.
func (x *exchange) echo(h http.Header) {
	for _, name := range keyFields {
		if lines := x.r.Header[name]; len(lines) > 0 {
			h.Set(keyField, lines[0])
			return
		}
	}
}

// ignore passes a request on that is not guarded.
func (x *exchange) ignore() {
	if _, err := readKey(x.r.Header, keyFields, keyPolicy{}); !errors.Is(err, errKeyAbsent) || slices.Contains(x.opts.Methods, x.r.Method) {
		x.w.Header().Set(statusField, string(Ignored))
	}
	x.next.ServeHTTP(x.w, x.r)
	x.report(Ignored, "")
}

// claimOptions are those of x's claim.
func (x *exchange) claimOptions(wait time.Duration) *semel.ClaimOptions {
	o := &x.opts
	c := &semel.ClaimOptions{
		Fingerprint: x.fingerprint, Same: same,
		Lease: o.Lease, Window: o.Window, ResultFor: min(o.ResultFor, o.Window), Wait: wait,
		Source: semel.ClientRetry, Recover: o.Recover,
	}
	if o.Guarantee == AtMostOnce && !o.Shadow {
		c.Note = x.note()
	}
	return c
}

// wait returns how long x may wait for another request with its key.
func (x *exchange) wait(crowd int) time.Duration {
	o := &x.opts
	wait := o.Wait
	if asked, ok := preferredWait(x.r.Header); ok {
		wait = min(asked, o.MaxWait)
	}
	if crowd > 1+maxCrowd || wait == 0 {
		return -1
	}
	return wait
}

// preferredWait reads Prefer: wait=SECONDS (RFC 7240, section 4.3).
func preferredWait(h http.Header) (time.Duration, bool) {
	for _, line := range h.Values("Prefer") {
		for pref := range strings.SplitSeq(line, ",") {
			pref, _, _ = strings.Cut(pref, ";")
			name, value, _ := strings.Cut(pref, "=")
			if strings.EqualFold(strings.TrimSpace(name), "wait") {
				s, err := strconv.ParseUint(strings.Trim(value, " \t\""), 10, 31)
				if err != nil {
					return 0, false
				}
				return time.Duration(s) * time.Second, true
			}
		}
	}
	return 0, false
}

// enter counts the requests of this process that use one key, until they leave.
func (g *guard) enter(key semel.Key) (crowd int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowds[key]++
	return g.crowds[key]
}

func (g *guard) leave(key semel.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.crowds[key]--; g.crowds[key] == 0 {
		delete(g.crowds, key)
	}
}

// opaque is a body that was read before, in a form of which net/http knows
// neither the length nor how to begin it anew.
type opaque struct{ bytes bytes.Reader }

// Read implements io.Reader.
func (o *opaque) Read(p []byte) (int, error) { return o.bytes.Read(p) }

// Close implements io.Closer.
func (*opaque) Close() error { return nil }

// request is what the handler gets: the body again, in a form that no transport
// can rewind. net/http would otherwise send a request a second time by itself
// when it carries an idempotency key and its connection breaks.
func (x *exchange) request(ctx context.Context) *http.Request {
	r := x.r.Clone(ctx)
	r.Body = &opaque{*bytes.NewReader(x.body)}
	r.ContentLength = int64(len(x.body))
	r.TransferEncoding = nil
	r.GetBody = nil
	return r
}
