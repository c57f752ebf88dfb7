package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

func byUser(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }

func start(t *testing.T, upstream string, r gateway.Route) *httptest.Server {
	t.Helper()
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pattern == "" {
		r.Pattern = "/"
	}
	r.Scope = byUser
	g, err := gateway.New(keeper, gateway.Options{Upstream: u, Routes: []gateway.Route{r}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return s
}

type reply struct {
	*http.Response
	body string
}

func post(t *testing.T, url, key, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	req.Header.Set("X-User", "u")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(b)}
}

func (r *reply) want(t *testing.T, mark string) {
	t.Helper()
	if r.StatusCode != http.StatusOK || r.Header.Get("Idempotency-Status") != mark {
		t.Errorf("got %d %q %q, want 200 %q", r.StatusCode, r.Header.Get("Idempotency-Status"), r.body, mark)
	}
}

// script is an upstream whose every request is answered by the next line: what
// to write to the connection before it is closed. It counts what it carried out.
type script struct {
	net.Listener
	executed atomic.Int64
}

// answerOK keeps the connection open for the next request.
const answerOK = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid"

func newScript(t *testing.T, answers func(n int64) (answer string, keep bool)) *script {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c, answers)
		}
	}()
	return s
}

func (s *script) serve(c net.Conn, answers func(n int64) (string, bool)) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		answer, keep := answers(s.executed.Add(1))
		io.WriteString(c, answer)
		if !keep {
			return
		}
	}
}

// net/http sends a POST again by itself when it carries an Idempotency-Key, its
// body is empty, and the reused connection breaks. The upstream here executes
// the second request on a connection, then drops it.
func TestTransportNeverSendsTwice(t *testing.T) {
	for _, body := range []string{"", "amount=1"} {
		for _, forward := range []gateway.Forward{gateway.ForwardSame, gateway.ForwardDerived, gateway.ForwardNothing} {
			t.Run(fmt.Sprintf("%q %s", body, forward), func(t *testing.T) {
				up := newScript(t, func(n int64) (string, bool) {
					if n == 1 {
						return answerOK, true
					}
					return "", false
				})
				s := start(t, "http://"+up.Addr().String(), gateway.Route{Forward: forward})
				r := post(t, s.URL, "k1", body)
				r.want(t, "executed")
				r = post(t, s.URL, "k2", body)
				if r.StatusCode != http.StatusBadGateway || !strings.Contains(r.body, "outcome-unknown") {
					t.Errorf("got %d %s", r.StatusCode, r.body)
				}
				r = post(t, s.URL, "k2", body)
				if r.StatusCode != http.StatusConflict || !strings.Contains(r.body, "outcome-unknown") {
					t.Errorf("retry: %d %s", r.StatusCode, r.body)
				}
				if n := up.executed.Load(); n != 2 {
					t.Errorf("the upstream executed %d requests, want 2", n)
				}
			})
		}
	}
}

// What passes unguarded is sent once as well: a request that only watched, that
// met a store which does not answer, or that no route takes, carries its key and
// would be sent again by net/http.
func TestTransportSendsUnguardedRequestsOnce(t *testing.T) {
	for name, r := range map[string]gateway.Route{
		"only watched": {Options: httpkey.Options{Shadow: true}},
		"no route":     {Pattern: "/elsewhere"},
		"no method":    {Options: httpkey.Options{Methods: []string{http.MethodPatch}}},
	} {
		t.Run(name, func(t *testing.T) {
			up := newScript(t, func(n int64) (string, bool) {
				if n == 1 {
					return answerOK, true
				}
				return "", false
			})
			s := start(t, "http://"+up.Addr().String(), r)
			post(t, s.URL, "k1", "")
			if r := post(t, s.URL, "k2", ""); r.StatusCode != http.StatusBadGateway {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
			if n := up.executed.Load(); n != 2 {
				t.Errorf("the upstream executed %d requests, want 2", n)
			}
		})
	}
}

func TestUpstreamFaults(t *testing.T) {
	unreachable := func() string {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return "http://" + l.Addr().String()
	}
	for _, tt := range []struct {
		name, upstream, answer string
		first                  int
		slug                   string // of the first
		retry                  string // what the retry must say
	}{
		{"unreachable", unreachable(), "", 502, "upstream-unreachable", "upstream-unreachable"},
		{"closed without an answer", "", "", 502, "outcome-unknown", "outcome-unknown"},
		{"closed inside the head", "", "HTTP/1.1 200 OK\r\nContent-Le", 502, "outcome-unknown", "outcome-unknown"},
		{"not HTTP", "", "SSH-2.0-OpenSSH\r\n\r\n", 502, "outcome-unknown", "outcome-unknown"},
		{"503", "", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", 503, "", "replayed"},
		{"429", "", "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\nno", 429, "", "executed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := newScript(t, func(int64) (string, bool) { return tt.answer, false })
			if tt.upstream == "" {
				tt.upstream = "http://" + up.Addr().String()
			}
			s := start(t, tt.upstream, gateway.Route{})
			r := post(t, s.URL, "k", "{}")
			if r.StatusCode != tt.first || !strings.Contains(r.body, tt.slug) {
				t.Errorf("first: %d %s", r.StatusCode, r.body)
			}
			r = post(t, s.URL, "k", "{}")
			if !strings.Contains(r.body, tt.retry) && r.Header.Get("Idempotency-Status") != tt.retry {
				t.Errorf("retry: %d %v %s", r.StatusCode, r.Header, r.body)
			}
			if want := int64(1); tt.first != 429 && up.executed.Load() > want {
				t.Errorf("executed %d times", up.executed.Load())
			}
		})
	}
}

// That nothing was sent this time says nothing of the time before.
func TestNewKeyIsNotSafeAfterAnAttempt(t *testing.T) {
	up := newScript(t, func(int64) (string, bool) {
		return "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", false
	})
	s := start(t, "http://"+up.Addr().String(), gateway.Route{Options: httpkey.Options{OnAmbiguous: httpkey.Release}})
	post(t, s.URL, "k", "{}")
	up.Close()
	for key, safe := range map[string]bool{"k": false, "l": true} {
		r := post(t, s.URL, key, "{}")
		if r.StatusCode != http.StatusBadGateway || !strings.Contains(r.body, fmt.Sprintf(`"safe_new_key":%v`, safe)) {
			t.Errorf("%s: %d %s", key, r.StatusCode, r.body)
		}
	}
}

// The upstream breaks off after its head: the effect is certain, its answer
// is not.
func TestBreaksOffInTheBody(t *testing.T) {
	up := newScript(t, func(int64) (string, bool) {
		return "HTTP/1.1 201 Created\r\nLocation: /c/7\r\nContent-Length: 100\r\n\r\npart", false
	})
	s := start(t, "http://"+up.Addr().String(), gateway.Route{})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
	req.Header.Set("Idempotency-Key", "k")
	req.Header.Set("X-User", "u")
	if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode < 500 {
			t.Errorf("the client got %d although the body broke off", resp.StatusCode)
		}
	}
	r := post(t, s.URL, "k", "{}")
	if r.StatusCode != http.StatusConflict || !strings.Contains(r.body, "result-unavailable") || r.Header.Get("Location") != "/c/7" {
		t.Errorf("retry: %d %v %s", r.StatusCode, r.Header, r.body)
	}
	if up.executed.Load() != 1 {
		t.Errorf("executed %d times", up.executed.Load())
	}
}

func TestProbeSettles(t *testing.T) {
	var charged sync.Map
	var posts atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if _, ok := charged.Load(r.URL.Query().Get("key")); !ok {
				w.WriteHeader(404)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "charged")
			return
		}
		posts.Add(1)
		charged.Store("a b/&?", true)
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	s := start(t, up.URL, gateway.Route{Probe: &gateway.Probe{Path: "/find?key={key}&s={scope}"}})
	r := post(t, s.URL, `"a b/&?"`, "{}")
	if r.StatusCode != http.StatusBadGateway {
		t.Fatalf("first: %d %s", r.StatusCode, r.body)
	}
	r = post(t, s.URL, `"a b/&?"`, "{}")
	r.want(t, "replayed")
	if r.body != "charged" || posts.Load() != 1 {
		t.Errorf("%q, %d posts", r.body, posts.Load())
	}
}

// A key of dots must not turn a probe to what lies above it, where the probe's
// credentials may open more than the caller's.
func TestProbesOfDotsAreNotSent(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			t.Errorf("asked for %s", r.RequestURI)
		}
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	for _, probe := range []string{"/charges/{key}", "{path}/status?key={key}"} {
		s := start(t, up.URL, gateway.Route{Probe: &gateway.Probe{Path: "/a" + probe}})
		for _, key := range []string{".", ".."} {
			for range 2 {
				if r := post(t, s.URL+"/x/%2e%2E", key, "{}"); !strings.Contains(r.body, "outcome-unknown") {
					t.Errorf("%s for %s: %d %s", probe, key, r.StatusCode, r.body)
				}
			}
		}
	}
}

// A path too long for the note: the probe would ask about another one, and take
// its 404 for proof.
func TestProbeWithoutItsPathIsNotSent(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			t.Errorf("asked for %.100s", r.RequestURI)
		}
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	s := start(t, up.URL, gateway.Route{Probe: &gateway.Probe{Path: "/find{path}?key={key}"}})
	for range 2 {
		if r := post(t, s.URL+"/"+strings.Repeat("x", 5000), "k", "{}"); !strings.Contains(r.body, "outcome-unknown") {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
}

func TestWhatTheUpstreamSees(t *testing.T) {
	seen := make(chan *http.Request, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Idempotency-Status", "forged")
		w.Header().Set("Idempotent-Replayed", "true")
		b, _ := io.ReadAll(r.Body)
		r.Header.Set("Test-Body", string(b))
		seen <- r
	}))
	defer up.Close()
	s := start(t, up.URL+"/base", gateway.Route{Pattern: "POST /v1/", Forward: gateway.ForwardDerived})
	r := post(t, s.URL+"/v1//a%2Fb?q=1&q=2", "k", "body")
	r.want(t, "executed")
	if r.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the upstream forged a replay")
	}
	got := <-seen
	if got.RequestURI != "/base/v1//a%2Fb?q=1&q=2" || got.Header.Get("Test-Body") != "body" {
		t.Errorf("%s %q", got.RequestURI, got.Header.Get("Test-Body"))
	}
	if k := got.Header.Get("Idempotency-Key"); len(k) != 66 || got.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("%v", got.Header)
	}
	r = post(t, s.URL+"/elsewhere", "k", "body") // no route: unguarded, untouched
	if got = <-seen; got.Header.Get("Idempotency-Key") != "k" || r.Header.Get("Idempotency-Status") != "" {
		t.Errorf("%v %v", got.Header, r.Header)
	}
}

func TestConfigurationErrors(t *testing.T) {
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	up, _ := url.Parse("http://127.0.0.1:1")
	for name, r := range map[string]gateway.Route{
		"no scope":            {Pattern: "/"},
		"no pattern":          {Scope: byUser},
		"method in lowercase": {Pattern: "/", Scope: byUser, Options: httpkey.Options{Methods: []string{"post"}}},
		"guards no method":    {Pattern: "GET /x", Scope: byUser},
		"bad pattern":         {Pattern: "POST  /x y{", Scope: byUser},
		"bad forward":         {Pattern: "/", Scope: byUser, Forward: "x"},
		"probe without key":   {Pattern: "/", Scope: byUser, Probe: &gateway.Probe{Path: "/x"}},
		"probe says both":     {Pattern: "/", Scope: byUser, Probe: &gateway.Probe{Path: "/{key}", Happened: []int{404}}},
		"ambiguous probe":     {Pattern: "/", Scope: byUser, Options: httpkey.Options{OnAmbiguous: httpkey.Probe}},
		"stores Set-Cookie":   {Pattern: "/", Scope: byUser, Options: httpkey.Options{StoredFields: []string{"set-cookie"}}},
		"2xx not processed":   {Pattern: "/", Scope: byUser, Options: httpkey.Options{NotProcessed: []int{200}}},
		"unknown on_ambigue":  {Pattern: "/", Scope: byUser, Options: httpkey.Options{OnAmbiguous: "x"}},
	} {
		if _, err := gateway.New(keeper, gateway.Options{Upstream: up, Routes: []gateway.Route{r}}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, u := range []*url.URL{nil, {Scheme: "ftp", Host: "x"}, {Scheme: "http"}} {
		if _, err := gateway.New(keeper, gateway.Options{Upstream: u}); err == nil {
			t.Errorf("upstream %v: accepted", u)
		}
	}
}

// A slow upstream: the first caller learns that the outcome is unknown, the
// late answer heals it.
func TestLateAnswerHeals(t *testing.T) {
	finish := make(chan bool)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-finish
		io.WriteString(w, "late")
	}))
	defer up.Close()
	s := start(t, up.URL, gateway.Route{Options: httpkey.Options{Answer: 50 * time.Millisecond, Wait: time.Minute}})
	r := post(t, s.URL, "k", "{}")
	if r.StatusCode != http.StatusGatewayTimeout || !strings.Contains(r.body, "outcome-unknown") {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	go func() { finish <- true }()
	r = post(t, s.URL, "k", "{}")
	r.want(t, "replayed")
	if r.body != "late" {
		t.Error(r.body)
	}
}
