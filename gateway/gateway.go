// Package gateway is a reverse proxy that gives any HTTP API idempotency keys:
// an http.Handler that guards routes as package httpkey does, and whose
// handler is an upstream that knows nothing of it.
//
// What can be proven about a request that failed decides its key's fate. Only a
// request whose head was never written to a connection was certainly not
// carried out.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// Forward says what the upstream gets to see of the key.
type Forward string

// What can be forwarded.
const (
	ForwardNothing Forward = ""        // the key's field is taken out; the default
	ForwardDerived Forward = "derived" // a key of the upstream's own, see semel.Lease.DerivedKey
	ForwardSame    Forward = "same"    // the client's key
)

// Options configure a gateway.
type Options struct {
	// Upstream is where requests go. Required: scheme and host, optionally a path
	// that is put before theirs.
	Upstream *url.URL
	// Routes are matched as http.ServeMux does: the most specific pattern wins.
	// Requests that match none pass unguarded.
	Routes []Route
	// DialTimeout bounds the making of a connection to the upstream. Default 5 s.
	DialTimeout time.Duration
	// IdleTimeout is how long an idle connection is kept for the next request. It
	// must be shorter than the upstream's: a request that meets a connection
	// being closed ends in doubt. Default 3 s.
	IdleTimeout time.Duration
	// MaxIdle bounds the idle connections. Default 128.
	MaxIdle int
}

// Route is a set of requests that are guarded alike.
type Route struct {
	// Pattern as http.ServeMux has it, without a host: "/", "POST /charges",
	// "/accounts/{id}/". Required.
	Pattern string
	// Scope says whose keys a request uses. Required.
	Scope httpkey.Scope
	// Options as in package httpkey. Route, if empty, becomes the pattern; Recover
	// must be nil where there is a Probe.
	Options httpkey.Options
	// Keeper of the route's keys, in the same store, for an Observer or limits of
	// the route's own. Default: the gateway's.
	Keeper *semel.Keeper
	// Forward says what the upstream gets to see of the key.
	Forward Forward
	// Probe asks the upstream about keys in doubt. Nil: nobody asks.
	Probe *Probe
}

// New returns the gateway as an http.Handler. It returns an error that wraps
// semel.ErrInvalid if the options cannot be used.
func New(keeper *semel.Keeper, o Options) (http.Handler, error) {
	switch {
	case keeper == nil:
		return nil, fmt.Errorf("%w: no keeper", semel.ErrInvalid)
	case o.Upstream == nil || o.Upstream.Host == "" || (o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https"):
		return nil, fmt.Errorf("%w: the upstream %v is not an http or https URL", semel.ErrInvalid, o.Upstream)
	}
	p := newProxy(o)
	t := &table{mux: http.NewServeMux(), routes: make(map[string]http.Handler), rest: p.pass(ForwardSame, "")}
	for _, r := range o.Routes {
		h, err := p.route(keeper, r)
		if err == nil {
			err = t.add(r.Pattern, h)
		}
		if err != nil {
			return nil, fmt.Errorf("route %q: %w", r.Pattern, err)
		}
	}
	return t, nil
}

type proxy struct {
	upstream  *url.URL
	transport http.RoundTripper
}

func newProxy(o Options) *proxy {
	dial, idle, most := o.DialTimeout, o.IdleTimeout, o.MaxIdle
	if dial == 0 {
		dial = 5 * time.Second
	}
	if idle == 0 {
		idle = 3 * time.Second
	}
	if most == 0 {
		most = 128
	}
	return &proxy{upstream: o.Upstream, transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dial}).DialContext,
		TLSHandshakeTimeout: dial,
		MaxIdleConns:        most,
		MaxIdleConnsPerHost: most,
		IdleConnTimeout:     idle,
		DisableCompression:  true, // bodies pass as they are
	}}
}

// route returns the guarded handler of a route.
func (p *proxy) route(keeper *semel.Keeper, r Route) (http.Handler, error) {
	o := r.Options
	if o.Route == "" {
		o.Route = r.Pattern
	}
	switch {
	case r.Pattern == "":
		return nil, fmt.Errorf("%w: no pattern", semel.ErrInvalid)
	case !guardsAny(r.Pattern, o.Methods):
		return nil, fmt.Errorf("%w: the pattern takes a method that the route does not guard", semel.ErrInvalid)
	case r.Scope == nil:
		return nil, fmt.Errorf("%w: no scope: say whose keys these are", semel.ErrInvalid)
	case r.Probe != nil && o.Recover != nil:
		return nil, fmt.Errorf("%w: both a probe and a RecoverFunc", semel.ErrInvalid)
	case r.Forward != ForwardNothing && r.Forward != ForwardDerived && r.Forward != ForwardSame:
		return nil, fmt.Errorf("%w: forward %q", semel.ErrInvalid, r.Forward)
	case o.OnAmbiguous == httpkey.Probe && r.Probe == nil:
		return nil, fmt.Errorf("%w: on_ambiguous is probe, but there is no probe", semel.ErrInvalid)
	}
	if r.Probe != nil {
		ask, err := r.Probe.prepare(p.upstream, p.transport)
		if err != nil {
			return nil, err
		}
		o.Recover = ask
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if r.Keeper != nil {
		keeper = r.Keeper
	}
	return httpkey.Middleware(keeper, r.Scope, &o)(p.pass(r.Forward, o.ProblemBase)), nil
}

// guardsAny reports whether a pattern with a method of its own takes one that is
// guarded; nil methods are httpkey's default.
func guardsAny(pattern string, methods []string) bool {
	method, _, ok := strings.Cut(pattern, " ")
	if methods == nil {
		methods = []string{http.MethodPost, http.MethodPatch}
	}
	return !ok || slices.Contains(methods, method)
}

// pass returns the handler that asks the upstream.
func (p *proxy) pass(forward Forward, problemBase string) http.Handler {
	rp := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { p.rewrite(r, forward) },
		Transport:      &onceTransport{next: p.transport},
		ModifyResponse: stripSignals,
		ErrorHandler:   failure{problemBase}.handle,
		// An answer that breaks off is in the record, and its log line in the
		// program's own form.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		rp.ServeHTTP(w, r.WithContext(watchSending(ctx)))
	})
}

func (p *proxy) rewrite(r *httputil.ProxyRequest, forward Forward) {
	r.SetURL(p.upstream)
	r.Out.Host = r.In.Host
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
	lease := httpkey.Lease(r.In.Context())
	if lease == nil {
		return
	}
	h := r.Out.Header
	key := h.Get("Idempotency-Key")
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key", "Expect"} {
		h.Del(name)
	}
	// A kept answer must be readable for every client that repeats the request.
	h.Set("Accept-Encoding", "identity")
	switch forward {
	case ForwardDerived:
		h.Set("Idempotency-Key", `"`+lease.DerivedKey()+`"`)
	case ForwardSame:
		h.Set("Idempotency-Key", key)
	}
}

// stripSignals keeps what only a guard may say, and what only a guard listens
// to, out of answers that no guard sees.
func stripSignals(r *http.Response) error {
	r.Header.Del("Idempotency-Status")
	r.Header.Del("Idempotent-Replayed")
	if httpkey.Lease(r.Request.Context()) == nil {
		r.Header.Del("Idempotency-Effect")
	}
	return nil
}
