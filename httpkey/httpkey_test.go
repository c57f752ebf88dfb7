package httpkey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// api is a guarded handler behind a real server.
type api struct {
	*httptest.Server
	keeper *semel.Keeper
	runs   atomic.Int64
	events chan httpkey.Event
}

func byUser(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }

func serve(t *testing.T, o httpkey.Options, h http.HandlerFunc) *api {
	t.Helper()
	return serveOn(t, memstore.New(), o, h)
}

func serveOn(t *testing.T, store semel.Store, o httpkey.Options, h http.HandlerFunc) *api {
	t.Helper()
	keeper, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return serveWith(t, keeper, o, h)
}

func serveWith(t *testing.T, keeper *semel.Keeper, o httpkey.Options, h http.HandlerFunc) *api {
	t.Helper()
	a := &api{keeper: keeper, events: make(chan httpkey.Event, 1000)}
	o.Observe = func(e httpkey.Event) { a.events <- e }
	guard := httpkey.Middleware(keeper, byUser, &o)
	a.Server = httptest.NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.runs.Add(1)
		h(w, r)
	})))
	t.Cleanup(a.Close)
	return a
}

// request is one POST of user u.
type request struct {
	method, path, key, user, body string
	header                        http.Header
}

type reply struct {
	*http.Response
	body    string
	problem httpkey.Problem
}

func (a *api) send(t *testing.T, q request) reply {
	t.Helper()
	r, err := a.try(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (a *api) try(ctx context.Context, q request) (reply, error) {
	if q.method == "" {
		q.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, q.method, a.URL+q.path, strings.NewReader(q.body))
	if err != nil {
		return reply{}, err
	}
	for name, values := range q.header {
		req.Header[name] = values
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	if q.user == "" {
		q.user = "u"
	}
	if q.user != "-" {
		req.Header.Set("X-User", q.user)
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	r := reply{Response: resp, body: string(b)}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		err = errors.Join(err, json.Unmarshal(b, &r.problem))
	}
	return r, err
}

func (r *reply) want(t *testing.T, status int, mark string) {
	t.Helper()
	if r.StatusCode != status || r.Header.Get("Idempotency-Status") != mark {
		t.Errorf("got %d %q %q, want %d %q", r.StatusCode, r.Header.Get("Idempotency-Status"), r.body, status, mark)
	}
}

func (r *reply) wantProblem(t *testing.T, status int, slug string) {
	t.Helper()
	if r.StatusCode != status || r.problem.Code != slug || r.problem.Status != status {
		t.Errorf("got %d %q %q, want %d %q", r.StatusCode, r.problem.Code, r.body, status, slug)
	}
}

// C013: replay comes back with another status (ikyriak/IdempotentAPI#39).
// C017: empty and bodiless answers break the replay (ikyriak/IdempotentAPI#21).
func TestReplayIsByteIdentical(t *testing.T) {
	for _, status := range []int{200, 201, 202, 204, 206, 301, 303, 304, 400, 404, 406, 409, 410, 422, 451, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/x-thing; charset=utf-8")
				w.Header()["Link"] = []string{"</a>; rel=a", "</b>; rel=b"}
				w.Header().Set("Etag", `"7"`)
				w.Header().Set("Set-Cookie", "session=secret")
				w.WriteHeader(status)
				if status != 204 && status != 304 {
					fmt.Fprintf(w, "body of %d\x00\xff", status)
				}
			})
			q := request{path: "/x", key: "k", body: `{"a":1}`}
			first, again := a.send(t, q), a.send(t, q)
			first.want(t, status, "executed")
			again.want(t, status, "replayed")
			if first.body != again.body || a.runs.Load() != 1 {
				t.Errorf("first %q, again %q, ran %d times", first.body, again.body, a.runs.Load())
			}
			for _, name := range []string{"Content-Type", "Link", "Etag", "Content-Length"} {
				if fmt.Sprint(first.Header[name]) != fmt.Sprint(again.Header[name]) {
					t.Errorf("%s: first %q, again %q", name, first.Header[name], again.Header[name])
				}
			}
			// C089: Set-Cookie replayed (granit-fx/granit-dotnet#1151).
			if again.Header.Get("Set-Cookie") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("replayed header %v", again.Header)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	a := serve(t, httpkey.Options{Required: true, MaxRequest: 100}, func(w http.ResponseWriter, r *http.Request) {})
	a.send(t, request{key: "taken", body: `{"amount":10,"to":"a"}`})
	long := strings.Repeat("k", 255)
	for _, tt := range []struct {
		name   string
		q      request
		status int
		slug   string
	}{
		{"no key", request{}, 400, "key-required"},
		{"blank", request{header: http.Header{"Idempotency-Key": {"  "}}}, 400, "key-malformed"},
		{"empty string", request{key: `""`}, 400, "key-malformed"},
		{"unterminated", request{key: `"abc`}, 400, "key-malformed"},
		{"not ASCII", request{key: "schlüssel"}, 400, "key-malformed"},
		{"blank inside bare text", request{key: "a b"}, 400, "key-malformed"},
		{"list", request{key: "a, b"}, 400, "key-multiple"},
		{"list of strings", request{key: `"a", "b"`}, 400, "key-multiple"},
		{"two fields", request{header: http.Header{"Idempotency-Key": {"a", "a"}}}, 400, "key-multiple"},
		{"alias differs", request{header: http.Header{"Idempotency-Key": {"a"}, "X-Idempotency-Key": {"b"}}}, 400, "key-multiple"},
		{"too long", request{key: long + "k"}, 400, "key-too-long"},
		{"too long, quoted", request{key: `"` + long + `k"`}, 400, "key-too-long"},
		{"no principal", request{key: "a", user: "-"}, 401, "scope-unresolved"},
		{"too large", request{key: "a", body: strings.Repeat("x", 101)}, 413, "request-too-large"},
		{"other amount", request{key: "taken", body: `{"amount":20,"to":"a"}`}, 422, "key-reused"},
		{"other path", request{key: "taken", path: "/other", body: `{"amount":10,"to":"a"}`}, 422, "key-reused"},
		{"other method", request{key: "taken", method: http.MethodPatch, body: `{"amount":10,"to":"a"}`}, 422, "key-reused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := a.runs.Load()
			r := a.send(t, tt.q)
			r.wantProblem(t, tt.status, tt.slug)
			if a.runs.Load() != before {
				t.Error("the handler ran")
			}
			if link := r.Header.Get("Link"); link != "<"+r.problem.Type+`>; rel="describedby"` || r.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("link %q, header %v", link, r.Header)
			}
			if tt.q.key != "" && len(tt.q.key) > 6 && strings.Contains(r.body, tt.q.key) {
				t.Error("the problem repeats the key")
			}
		})
	}
	for _, q := range []request{ // the same request, written otherwise
		{key: `"taken"`, body: `{"amount":10,"to":"a"}`},
		{key: ` taken `, body: ` {"to":"a", "amount" : 10}`},
		{header: http.Header{"X-Idempotency-Key": {"taken"}}, body: `{"amount":10,"to":"\u0061"}`},
		{key: "taken", header: http.Header{"X-Request-Id": {"7"}, "Authorization": {"rotated"}}, body: `{"amount":10,"to":"a"}`},
	} {
		r := a.send(t, q)
		r.want(t, 200, "replayed")
	}
	if a.runs.Load() != 1 {
		t.Errorf("ran %d times", a.runs.Load())
	}
	if r := a.send(t, request{key: long}); r.StatusCode != http.StatusOK {
		t.Errorf("a key of 255 bytes: %d", r.StatusCode)
	}
}

// C004: no key sent: all callers get the first caller's answer
// (aws-powertools/powertools-lambda-typescript#1501).
func TestNoKeyIsNoKey(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) {})
	for range 2 {
		r := a.send(t, request{body: `{}`})
		r.want(t, 200, "ignored")
	}
	// C068: header name matched by suffix (nats-io/nats-server#3645).
	for _, name := range []string{"X-Original-Idempotency-Key", "Idempotency-Key-Old"} {
		r := a.send(t, request{header: http.Header{name: {"k"}}})
		r.want(t, 200, "ignored")
	}
	if a.runs.Load() != 4 {
		t.Errorf("ran %d times", a.runs.Load())
	}
	if r := a.send(t, request{method: http.MethodGet, key: "k"}); r.Header.Get("Idempotency-Status") != "ignored" {
		t.Errorf("GET: %v", r.Header)
	}
}

// C088: default set-up replays tenant A's answer to tenant B
// (paveg/hono-idempotency#126).
func TestScopesAreApart(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("X-User")) })
	for _, user := range []string{"alice", "bob", strings.Repeat("x", 300)} {
		r := a.send(t, request{key: "k", user: user})
		r.want(t, 200, "executed")
		if r.body != user {
			t.Errorf("%s got %q", user, r.body)
		}
	}
}

// C019: client locked out by a remembered error (ikyriak/IdempotentAPI#37).
func TestFateByStatus(t *testing.T) {
	kept, freed, held := "replayed", "executed", ""
	for _, tt := range []struct {
		status int
		o      httpkey.Options
		effect string
		want   string // of the second request; empty: in doubt
	}{
		{status: 200, want: kept},
		{status: 400, want: kept},
		{status: 404, want: kept},
		{status: 401, want: freed},
		{status: 429, want: freed},
		{status: 408, want: kept},
		{status: 500, want: kept},
		{status: 503, want: kept},
		{status: 503, o: httpkey.Options{NotProcessed: []int{503}}, want: freed},
		{status: 500, o: httpkey.Options{OnAmbiguous: httpkey.Hold}, want: held},
		{status: 408, o: httpkey.Options{OnAmbiguous: httpkey.Hold}, want: held},
		{status: 500, o: httpkey.Options{OnAmbiguous: httpkey.Release}, want: freed},
		{status: 500, o: httpkey.Options{Guarantee: httpkey.AtLeastOnce}, want: freed},
		{status: 408, o: httpkey.Options{Guarantee: httpkey.AtLeastOnce}, want: freed},
		{status: 500, effect: "none", want: freed},
		{status: 200, effect: "none", want: freed},
		{status: 429, effect: "applied", want: kept},
		{status: 200, effect: "unknown", want: held},
	} {
		t.Run(fmt.Sprint(tt.status, tt.o.Guarantee, tt.o.OnAmbiguous, tt.effect), func(t *testing.T) {
			a := serve(t, tt.o, func(w http.ResponseWriter, r *http.Request) {
				if tt.effect != "" {
					w.Header().Set("Idempotency-Effect", tt.effect)
				}
				w.WriteHeader(tt.status)
			})
			first := a.send(t, request{key: "k"})
			first.want(t, tt.status, "executed")
			if first.Header.Get("Idempotency-Effect") != "" {
				t.Error("the signal reached the client")
			}
			again := a.send(t, request{key: "k"})
			if tt.want == held {
				again.wantProblem(t, 409, "outcome-unknown")
				return
			}
			again.want(t, tt.status, tt.want)
		})
	}
}

// C024: 409 that does not say what to do (ietf-wg-httpapi/idempotency#11).
func TestInFlight(t *testing.T) {
	begun, finish := make(chan bool), make(chan bool)
	a := serve(t, httpkey.Options{Wait: -1}, func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		<-finish
		io.WriteString(w, "done")
	})
	got := make(chan reply)
	go func() {
		r, _ := a.try(t.Context(), request{key: "k", body: "1"})
		got <- r
	}()
	<-begun
	r := a.send(t, request{key: "k", body: "1"})
	r.wantProblem(t, 409, "in-progress")
	if r.Header.Get("Retry-After") == "" || !r.problem.Retryable || r.problem.Outcome != "unknown" {
		t.Errorf("%s: %+v", r.Header.Get("Retry-After"), r.problem)
	}
	// C007: payload check skipped on the fast path
	// (aws-powertools/powertools-lambda-typescript#2058).
	r = a.send(t, request{key: "k", body: "2"})
	r.wantProblem(t, 422, "key-reused")

	waiting := make(chan reply, 5)
	for range 5 {
		go func() {
			r, _ := a.try(t.Context(), request{key: "k", body: "1", header: http.Header{"Prefer": {"wait=20"}}})
			waiting <- r
		}()
	}
	finish <- true
	for range 5 {
		r := <-waiting
		r.want(t, 200, "replayed")
	}
	if r := <-got; r.body != "done" || a.runs.Load() != 1 {
		t.Errorf("%q, ran %d times", r.body, a.runs.Load())
	}
}

// The client gives up; the handler goes on, and the retry finds its answer.
func TestHandlerOutlivesItsClient(t *testing.T) {
	begun, finish := make(chan bool), make(chan bool)
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		select {
		case <-finish:
		case <-r.Context().Done():
			t.Error("the handler's context ended with its client")
		}
		io.WriteString(w, "done")
	})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := a.try(ctx, request{key: "k"})
		gone <- err
	}()
	<-begun
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("the client was answered")
	}
	finish <- true
	if e := <-a.events; e.Result != httpkey.Executed {
		t.Fatalf("%+v", e)
	}
	r := a.send(t, request{key: "k"})
	r.want(t, 200, "replayed")
	if r.body != "done" || a.runs.Load() != 1 {
		t.Errorf("%q, ran %d times", r.body, a.runs.Load())
	}
}

func TestAnswerTooLateIsUnknownThenReplayed(t *testing.T) {
	finish := make(chan bool)
	a := serve(t, httpkey.Options{Answer: 50 * time.Millisecond, Wait: -1}, func(w http.ResponseWriter, r *http.Request) {
		<-finish
		io.WriteString(w, "late")
	})
	r := a.send(t, request{key: "k"})
	r.wantProblem(t, 504, "outcome-unknown")
	if r.problem.SafeNewKey || r.problem.Outcome != "unknown" {
		t.Errorf("%+v", r.problem)
	}
	r = a.send(t, request{key: "k"})
	r.wantProblem(t, 409, "in-progress")
	finish <- true
	r = a.send(t, request{key: "k", header: http.Header{"Prefer": {"wait=20"}}})
	r.want(t, 200, "replayed")
	if r.body != "late" || a.runs.Load() != 1 {
		t.Errorf("%q, ran %d times", r.body, a.runs.Load())
	}
}

// C015: answer too big to keep: protection silently switched off
// (gofiber/fiber#4018).
func TestAnswerNotKept(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"too large": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/things/7")
			w.WriteHeader(http.StatusCreated)
			for range 50 {
				io.WriteString(w, strings.Repeat("x", 1000))
			}
		},
		"streamed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/things/7")
			w.WriteHeader(http.StatusCreated)
			w.(http.Flusher).Flush()
			io.WriteString(w, strings.Repeat("x", 50_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, httpkey.Options{MaxResponse: 40_000}, h)
			first := a.send(t, request{key: "k"})
			first.want(t, 201, "executed")
			if len(first.body) != 50_000 {
				t.Errorf("%d bytes", len(first.body))
			}
			again := a.send(t, request{key: "k"})
			again.wantProblem(t, 409, "result-unavailable")
			if again.problem.FirstStatus != 201 || again.Header.Get("Location") != "/things/7" || again.problem.Outcome != "applied" {
				t.Errorf("%+v", again.problem)
			}
			if a.runs.Load() != 1 {
				t.Errorf("ran %d times", a.runs.Load())
			}
		})
	}
}

// C021: release only happens on one response path
// (KanishJebaMathewM/Truxify#4622).
func TestPanics(t *testing.T) {
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		o      httpkey.Options
		status int
		slug   string
	}{
		{"before the head", func(http.ResponseWriter, *http.Request) { panic("boom") }, httpkey.Options{}, 409, "outcome-unknown"},
		{"abort after the head", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			panic(http.ErrAbortHandler)
		}, httpkey.Options{}, 409, "result-unavailable"},
		{"no effect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Idempotency-Effect", "none")
		}, httpkey.Options{}, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, tt.o, tt.h)
			a.Config.ErrorLog = nil
			if _, err := a.try(t.Context(), request{key: "k"}); err == nil && tt.slug != "" {
				t.Error("the panic did not reach the server")
			}
			r := a.send(t, request{key: "k"})
			if tt.slug == "" {
				r.want(t, tt.status, "executed")
				return
			}
			r.wantProblem(t, tt.status, tt.slug)
			if a.runs.Load() != 1 {
				t.Errorf("ran %d times", a.runs.Load())
			}
		})
	}
}

// brokenStore answers no claim.
type brokenStore struct{ semel.Store }

func (brokenStore) Claim(context.Context, semel.Request) (semel.Answer, error) {
	return semel.Answer{}, errors.New("connection refused")
}

// C107: store down: fail open doubles payroll, or fail closed loops for ever
// (Dev1822/paySphere#1919).
func TestStoreDown(t *testing.T) {
	keeper, err := semel.New(brokenStore{memstore.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{false, true} {
		a := &api{keeper: keeper}
		a.Server = httptest.NewServer(httpkey.Middleware(keeper, byUser, &httpkey.Options{FailOpen: open})(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.runs.Add(1) })))
		t.Cleanup(a.Close)
		r := a.send(t, request{key: "k"})
		if open {
			r.want(t, 200, "bypassed")
		} else {
			r.wantProblem(t, 503, "store-unavailable")
			if r.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		if ran := a.runs.Load() == 1; ran != open {
			t.Errorf("open %v, ran %v", open, ran)
		}
	}
}

func TestShadowNeverIntervenes(t *testing.T) {
	a := serve(t, httpkey.Options{Shadow: true, Required: true, MaxRequest: 10}, func(w http.ResponseWriter, r *http.Request) {
		if b, err := io.ReadAll(r.Body); err != nil || len(b) == 0 {
			t.Errorf("the body is gone: %q, %v", b, err)
		}
		io.WriteString(w, "real")
	})
	for _, tt := range []struct {
		q    request
		want httpkey.Result
	}{
		{request{key: "k", body: "1"}, httpkey.Executed},
		{request{key: "k", body: "1"}, httpkey.Replayed},
		{request{key: "k", body: "2"}, httpkey.Reused},
		{request{body: "1"}, httpkey.Refused},
		{request{key: "a, b", body: "1"}, httpkey.Refused},
		{request{key: "k", user: "-", body: "1"}, httpkey.Refused},
		{request{key: "l", body: strings.Repeat("x", 20)}, httpkey.Refused},
	} {
		r := a.send(t, tt.q)
		if r.body != "real" || r.Header.Get("Idempotency-Status") != "" {
			t.Errorf("%q %v", r.body, r.Header)
		}
		if e := <-a.events; e.Result != tt.want {
			t.Errorf("event %+v, want %s", e, tt.want)
		}
	}
	if a.runs.Load() != 7 {
		t.Errorf("ran %d times", a.runs.Load())
	}
}

// A path or query of any length that net/http takes fits beside its key.
func TestLongTarget(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) {})
	for i, target := range []string{"/x?q=" + strings.Repeat("q", 100_000), "/" + strings.Repeat("p", 100_000), "/" + strings.Repeat("%22", 40_000)} {
		q := request{path: target, key: fmt.Sprint("k", i)}
		first, again := a.send(t, q), a.send(t, q)
		first.want(t, 200, "executed")
		again.want(t, 200, "replayed")
	}
}

// Only a store that does not answer opens the way: a claim that the Keeper
// refuses to make is a mistake of the program's, not an outage.
func TestFailOpenIsForOutages(t *testing.T) {
	keeper, err := semel.New(memstore.New(), &semel.Options{Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{keeper: keeper}
	a.Server = httptest.NewServer(httpkey.Middleware(keeper, byUser, &httpkey.Options{FailOpen: true, Window: 5 * time.Minute})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.runs.Add(1) })))
	defer a.Close()
	r := a.send(t, request{key: "k"})
	r.wantProblem(t, 503, "store-unavailable")
	if a.runs.Load() != 0 {
		t.Error("it ran unguarded")
	}
}
