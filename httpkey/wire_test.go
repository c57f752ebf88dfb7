package httpkey_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// wire is a client that writes bytes itself.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, a *api) *wire {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &wire{c, bufio.NewReader(c)}
}

// head writes the head of a POST; lines are added to it.
func (c *wire) head(t *testing.T, key string, lines ...string) {
	t.Helper()
	head := "POST /x HTTP/1.1\r\nHost: a\r\nX-User: u\r\nIdempotency-Key: " + key + "\r\n"
	for _, line := range lines {
		head += line + "\r\n"
	}
	c.write(t, head+"\r\n")
}

func (c *wire) write(t *testing.T, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// wireAnswer is what an answer says beside its body.
type wireAnswer struct {
	StatusCode       int
	Header, Trailer  http.Header
	TransferEncoding []string
}

// answer reads one answer to its end, by its framing.
func (c *wire) answer(t *testing.T) (wireAnswer, string) {
	t.Helper()
	resp, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return wireAnswer{resp.StatusCode, resp.Header, resp.Trailer, resp.TransferEncoding}, string(body)
}

// C017: empty and bodiless answers break the replay (ikyriak/IdempotentAPI#21):
// each answer ends where it says, so that the next on its connection can be read.
func TestConnectionStaysUsable(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"204": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"204, with body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			io.WriteString(w, "x")
		},
		"304": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		},
		"empty":       func(http.ResponseWriter, *http.Request) {},
		"length zero": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") },
		"body":        func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "body") },
		"with length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			io.WriteString(w, "body")
		},
		"large":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100_000)) },
		"flushed": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); io.WriteString(w, "body") },
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, httpkey.Options{}, h)
			c := dial(t, a)
			bodies := make(map[string]bool)
			for i, body := range []string{"1", "1", "2", "1"} {
				c.head(t, "k", "Content-Length: 1")
				c.write(t, body)
				resp, got := c.answer(t)
				if body == "2" {
					if resp.StatusCode != http.StatusUnprocessableEntity {
						t.Errorf("other request: %d", resp.StatusCode)
					}
					continue
				}
				if resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
					if len(resp.Header["Content-Length"]) > 0 || len(resp.Header["Content-Encoding"]) > 0 || len(resp.TransferEncoding) > 0 {
						t.Errorf("%d has %v", resp.StatusCode, resp.Header)
					}
				}
				if name != "flushed" || i == 0 {
					bodies[fmt.Sprint(resp.StatusCode, got)] = true
				}
			}
			if len(bodies) != 1 || a.runs.Load() != 1 {
				t.Errorf("%d answers, ran %d times", len(bodies), a.runs.Load())
			}
			if c.in.Buffered() > 0 {
				t.Error("bytes are left over")
			}
		})
	}
}

// What can be refused by the head alone is, before the client sends its body.
func TestRefusedBeforeTheBody(t *testing.T) {
	a := serve(t, httpkey.Options{MaxRequest: 100}, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	for _, tt := range []struct {
		key    string
		length int
		status int
	}{
		{"a, b", 10, 400}, {"a b", 10, 400}, {strings.Repeat("k", 256), 10, 400}, {"k", 101, 413},
	} {
		c := dial(t, a)
		c.head(t, tt.key, "Expect: 100-continue", fmt.Sprint("Content-Length: ", tt.length))
		if resp, body := c.answer(t); resp.StatusCode != tt.status {
			t.Errorf("%.10s: %d %s, want %d", tt.key, resp.StatusCode, body, tt.status)
		}
	}
	c := dial(t, a)
	c.head(t, "k", "Expect: 100-continue", "Content-Length: 4")
	if resp, _ := c.answer(t); resp.StatusCode != http.StatusContinue {
		t.Fatalf("%d", resp.StatusCode)
	}
	c.write(t, "body")
	if resp, body := c.answer(t); resp.StatusCode != http.StatusOK || body != "body" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if a.runs.Load() != 1 {
		t.Errorf("ran %d times", a.runs.Load())
	}
}

// Who has no key or no principal costs neither a body nor the store.
func TestRefusedByTheHead(t *testing.T) {
	store := &countingStore{Store: memstore.New()}
	keeper, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	guard := httpkey.Middleware(keeper, byUser, nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }))
	for _, h := range []http.Header{
		{"Idempotency-Key": {"k"}}, {"Idempotency-Key": {"k", "l"}, "X-User": {"u"}}, {"Idempotency-Key": {"a b"}, "X-User": {"u"}},
		{"Idempotency-Key": {strings.Repeat("k", 256)}, "X-User": {"u"}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.ErrReader(errors.New("the body was read")))
		r.Header = h
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r) // a body that breaks off would panic
		if w.Code != http.StatusBadRequest && (w.Code != http.StatusUnauthorized || h["X-User"] != nil) {
			t.Errorf("%v: %d", h, w.Code)
		}
	}
	if store.claims.Load()+store.gets.Load() > 0 {
		t.Error("the store was asked")
	}
}

// C093: control bytes in keys (josipmusa/idempotency4j#50). net/http refuses
// some itself; none gets through.
func TestControlBytesInKeys(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(http.ResponseWriter, *http.Request) {})
	for b := range 256 {
		if b >= ' ' && b < 0x7f || b == '\t' || b == '\n' || b == '\r' {
			continue
		}
		for _, form := range []string{"a%sb", `"a%sb"`} {
			c := dial(t, a)
			c.head(t, fmt.Sprintf(form, string([]byte{byte(b)})), "Content-Length: 0")
			if resp, body := c.answer(t); resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%#x: %d %s", b, resp.StatusCode, body)
			}
			c.Close()
		}
	}
	for _, key := range []string{"a\tb", "a\rb", "a\r\n b"} {
		c := dial(t, a)
		c.head(t, key, "Content-Length: 0")
		if resp, body := c.answer(t); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d %s", key, resp.StatusCode, body)
		}
	}
	if a.runs.Load() != 0 {
		t.Errorf("ran %d times", a.runs.Load())
	}
}

func TestChunkedBody(t *testing.T) {
	a := serve(t, httpkey.Options{MaxRequest: 10}, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 10 || len(r.TransferEncoding) > 0 {
			t.Errorf("length %d, %v", r.ContentLength, r.TransferEncoding)
		}
		io.Copy(w, r.Body)
	})
	c := dial(t, a)
	c.head(t, "k", "Transfer-Encoding: chunked")
	c.write(t, "5\r\n12345\r\n5\r\n67890\r\n0\r\n\r\n")
	if resp, body := c.answer(t); resp.StatusCode != http.StatusOK || body != "1234567890" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	c.head(t, "k", "Content-Length: 10") // the same body, framed otherwise
	c.write(t, "1234567890")
	if resp, body := c.answer(t); resp.Header.Get("Idempotent-Replayed") != "true" || body != "1234567890" {
		t.Errorf("%v %q", resp.Header, body)
	}
	c.head(t, "l", "Transfer-Encoding: chunked")
	c.write(t, "b\r\n12345678901\r\n") // and it does not end
	if resp, _ := c.answer(t); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
	if _, err := a.keeper.Get(t.Context(), semel.Key{Scope: "u", ID: "l"}); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("too large, but claimed: %v", err)
	}
}

// A client that breaks its upload off has claimed nothing.
func TestUploadBrokenOff(t *testing.T) {
	left := make(chan bool)
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	guard := httpkey.Middleware(keeper, byUser, nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }))
	a := &api{keeper: keeper, Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		guard.ServeHTTP(w, r)
	}))}
	defer a.Close()
	c := dial(t, a)
	c.head(t, "k", "Content-Length: 10")
	c.write(t, "12345")
	c.Close()
	<-left
	if _, err := keeper.Get(t.Context(), semel.Key{Scope: "u", ID: "k"}); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("claimed: %v", err)
	}
}

// A limit that somebody else has set around the guard is a refusal as well.
func TestLimitAroundTheGuard(t *testing.T) {
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	guard := httpkey.Middleware(keeper, byUser, &httpkey.Options{MaxRequest: math.MaxInt64})
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	a := &api{keeper: keeper, Server: httptest.NewServer(http.MaxBytesHandler(guard(echo), 10))}
	defer a.Close()
	r := a.send(t, request{key: "k", body: "1234567890"})
	r.want(t, 200, "executed")
	if r.body != "1234567890" {
		t.Errorf("the handler got %q", r.body)
	}
	r = a.send(t, request{key: "l", body: "12345678901"})
	r.wantProblem(t, 413, "request-too-large")
	if !strings.Contains(r.problem.Detail, "10 bytes") {
		t.Errorf("%q", r.problem.Detail)
	}
}

// Shadow refuses nothing: the handler meets a broken upload as it would have.
func TestShadowPassesABrokenUploadOn(t *testing.T) {
	got := make(chan string, 1)
	a := serve(t, httpkey.Options{Shadow: true}, func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			t.Error("the upload looks whole")
		}
		got <- string(b)
	})
	c := dial(t, a)
	c.head(t, "k", "Content-Length: 10")
	c.write(t, "12345")
	c.Close()
	if b := <-got; b != "12345" {
		t.Errorf("the handler got %q", b)
	}
	if e := <-a.events; e.Result != httpkey.Ignored {
		t.Errorf("%+v", e)
	}
}

func TestInformationalAnswersAndTrailersStop(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "7")
		w.Header().Set(http.TrailerPrefix+"X-Other", "8")
	})
	c := dial(t, a)
	for range 2 {
		c.head(t, "k", "Content-Length: 0", "TE: trailers")
		resp, body := c.answer(t)
		if resp.StatusCode != http.StatusOK || body != "body" || resp.Trailer.Get("X-Sum")+resp.Trailer.Get("X-Other")+resp.Header.Get("X-Sum") != "" {
			t.Errorf("%d %q %v", resp.StatusCode, body, resp.Trailer)
		}
	}
}
