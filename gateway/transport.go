package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/internal/crash"
)

// sending is the evidence of how far a request got.
type sending struct {
	headWritten atomic.Bool // all of its head was handed to a connection
}

type sendingKey struct{}

// watchSending returns a context whose requests leave evidence.
func watchSending(ctx context.Context) context.Context {
	s := &sending{}
	ctx = context.WithValue(ctx, sendingKey{}, s)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(string, string) { crash.At("dialing") },
		WroteHeaders: func() {
			s.headWritten.Store(true)
			crash.At("head-sent")
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { crash.At("body-sent") },
		GotFirstResponseByte: func() { crash.At("answering") },
	})
}

// onceTransport sends a request once, guarded or not. net/http sends a POST
// again by itself when it carries an Idempotency-Key, its body is empty or can
// be rewound, and its reused connection breaks: the upstream would carry it out
// twice. It cannot do that with a body of unknown nature. Methods that are safe
// to repeat keep net/http's help.
type onceTransport struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *onceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if lease := httpkey.Lease(r.Context()); lease != nil {
		if err := lease.Start(); err != nil {
			return nil, err
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return t.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	body := io.Reader(http.NoBody)
	if r.Body != nil {
		body = r.Body
	}
	r.Body = opaque{body}
	r.GetBody = nil
	return t.next.RoundTrip(r)
}

// opaque hides from net/http that a body is empty or can be rewound.
type opaque struct{ io.Reader }

// Close implements io.Closer.
func (o opaque) Close() error {
	if c, ok := o.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// failure answers requests that got no answer from the upstream.
type failure struct{ problemBase string }

// handle tells the guard, and the client, what is known of the effect.
func (f failure) handle(w http.ResponseWriter, r *http.Request, err error) {
	s, _ := r.Context().Value(sendingKey{}).(*sending)
	slug, detail, effect := "outcome-unknown", "The connection to the upstream broke before its answer came.", "unknown"
	if s != nil && !s.headWritten.Load() {
		slug, detail, effect = "upstream-unreachable", "Nothing was sent to the upstream.", "none"
	}
	p := httpkey.NewProblem(f.problemBase, slug, detail)
	p.Status = http.StatusBadGateway
	if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		p.Status = http.StatusGatewayTimeout
	}
	if lease := httpkey.Lease(r.Context()); lease != nil {
		w.Header().Set("Idempotency-Effect", effect)
		// An attempt before may have run, where the route lets such keys go on.
		p.SafeNewKey = p.SafeNewKey && lease.Record().Attempts == 1
		p.Operation = lease.Key().ClaimID()
	} else if effect == "unknown" {
		p.Retryable = false // without a key a retry may run again
	}
	if p.Retryable {
		p.After(time.Second)
	}
	p.Write(w)
}
