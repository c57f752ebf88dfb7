package httpkey_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// countingStore counts what is asked of it.
type countingStore struct {
	semel.Store
	claims, gets atomic.Int64
}

func (s *countingStore) Claim(ctx context.Context, r semel.Request) (semel.Answer, error) {
	s.claims.Add(1)
	return s.Store.Claim(ctx, r)
}

func (s *countingStore) Get(ctx context.Context, k semel.Key) (semel.Record, error) {
	s.gets.Add(1)
	return s.Store.Get(ctx, k)
}

// C024: clients hammer a key in flight (ietf-wg-httpapi/idempotency#11): sixteen
// copies wait behind one poller, the others are told at once.
func TestCrowd(t *testing.T) {
	const waiters, extra = 16, 34
	begun, finish := make(chan bool), make(chan bool)
	store := &countingStore{Store: memstore.New()}
	a := serveOn(t, store, httpkey.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-finish
		io.WriteString(w, "done")
	})
	replies := make(chan reply, 1+waiters+extra)
	send := func() {
		r, err := a.try(context.WithoutCancel(t.Context()), request{key: "k", body: "1", header: http.Header{"Prefer": {"wait=30"}}})
		if err != nil {
			t.Error(err)
		}
		replies <- r
	}
	go send()
	<-begun
	for range waiters + extra {
		go send()
	}
	for range extra {
		r := <-replies
		r.wantProblem(t, 409, "in-progress")
		if r.Header.Get("Retry-After") == "" || r.Header.Get("Retry-After") == "0" {
			t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
		}
	}
	select {
	case r := <-replies:
		t.Errorf("one waiter too few: %d %s", r.StatusCode, r.body)
	default:
	}
	finish <- true
	replayed := 0
	for range 1 + waiters {
		r := <-replies
		if r.StatusCode != http.StatusOK || r.body != "done" {
			t.Errorf("%d %q", r.StatusCode, r.body)
		}
		if r.Header.Get("Idempotent-Replayed") != "" {
			replayed++
		}
	}
	if replayed != waiters || a.runs.Load() != 1 {
		t.Errorf("%d replayed, ran %d times", replayed, a.runs.Load())
	}
	// Each request claims once, those who wait once more; and one poller looks.
	if claims, gets := store.claims.Load(), store.gets.Load(); claims > 1+2*waiters+extra || gets > 30 {
		t.Errorf("%d claims, %d reads", claims, gets)
	}
	// The crowd has gone: the next copy may wait again.
	r := a.send(t, request{key: "k", body: "1"})
	r.want(t, 200, "replayed")
}

func TestQuota(t *testing.T) {
	keeper, err := semel.New(memstore.New(), &semel.Options{MaxNew: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := serveWith(t, keeper, httpkey.Options{}, func(http.ResponseWriter, *http.Request) {})
	for _, key := range []string{"a", "b"} {
		r := a.send(t, request{key: key})
		r.want(t, 200, "executed")
	}
	r := a.send(t, request{key: "c"})
	r.wantProblem(t, 429, "quota-exceeded")
	if r.Header.Get("Retry-After") == "" || !r.problem.Retryable || r.problem.Outcome != "none" {
		t.Errorf("%v %+v", r.Header, r.problem)
	}
	r = a.send(t, request{key: "a"}) // known keys are answered
	r.want(t, 200, "replayed")
	r = a.send(t, request{key: "c", user: "other"})
	r.want(t, 200, "executed")
}

// An answer is not kept for ever; its key is known for longer, and does not run.
func TestResultExpires(t *testing.T) {
	a := serve(t, httpkey.Options{ResultFor: time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "secret")
	})
	first := a.send(t, request{key: "k"})
	first.want(t, 201, "executed")
	r := a.send(t, request{key: "k"})
	for deadline := time.Now().Add(10 * time.Second); r.StatusCode == http.StatusCreated && time.Now().Before(deadline); {
		r = a.send(t, request{key: "k"})
	}
	r.wantProblem(t, 410, "result-expired")
	if p := r.problem; p.Retryable || p.SafeNewKey || p.Outcome != "applied" || p.CompletedAt == nil || r.body == "" {
		t.Errorf("%+v", p)
	}
	if a.runs.Load() != 1 {
		t.Errorf("ran %d times", a.runs.Load())
	}
}

func TestOptionsThatNoClaimWouldAccept(t *testing.T) {
	for name, o := range map[string]httpkey.Options{
		"window shorter than the wait": {Window: time.Minute},
		"window of a client's wait":    {Window: 5 * time.Minute, MaxWait: 5 * time.Minute},
		"window of two leases":         {Window: 10 * time.Minute, Lease: 5 * time.Minute},
		"window":                       {Window: semel.MaxWindow + 1},
		"results":                      {ResultFor: semel.MaxWindow + 1},
		"short lease":                  {Lease: semel.MinLease - 1},
		"long lease":                   {Lease: semel.MaxLease + 1},
		"sizes":                        {MaxRequest: -1},
		"ambiguous":                    {OnAmbiguous: "guess"},
		"not processed":                {NotProcessed: []int{201}},
		"negative":                     {Answer: -1},
	} {
		if err := o.Check(); !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]httpkey.Options{
		"defaults": {}, "no wait": {Wait: -1}, "tight": {Window: 3 * time.Minute, MaxWait: time.Minute, Lease: 30 * time.Second},
	} {
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
