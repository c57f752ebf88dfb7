package httpkey_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// C021: release only happens on one response path
// (KanishJebaMathewM/Truxify#4622): whatever a handler does with its writer, its
// key does not stay held.
func TestMisuseOfTheWriter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		status int // of the retry
		mark   string
		slug   string
		body   string
	}{
		{name: "writes nothing", h: func(http.ResponseWriter, *http.Request) {}, status: 200, mark: "replayed"},
		{name: "two heads", h: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "one")
		}, status: 201, mark: "replayed", body: "one"},
		{name: "fields after the head", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Link"] = []string{"a"}
			w.WriteHeader(http.StatusCreated)
			w.Header()["Link"][0] = "b"
			w.Header().Set("Location", "/late")
		}, status: 201, mark: "replayed"},
		{name: "body of a 204", h: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if n, err := io.WriteString(w, "body"); n != 0 || !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("%d, %v", n, err)
			}
		}, status: 204, mark: "replayed"},
		{name: "status that cannot be sent", h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) }, status: 409, slug: "outcome-unknown"},
		{name: "no status at all", h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) }, status: 409, slug: "outcome-unknown"},
		{name: "informational first", h: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
		}, status: 202, mark: "replayed"},
		{name: "hijack", h: func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("hijacked: %v", err)
			}
			w.WriteHeader(http.StatusOK)
		}, status: 200, mark: "replayed"},
		{name: "content", h: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
		}, status: 303, mark: "replayed"},
		{name: "Goexit", h: func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, status: 409, slug: "outcome-unknown"},
		{name: "panic, no effect", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Idempotency-Effect", "none")
			panic(http.ErrAbortHandler)
		}, slug: "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, httpkey.Options{}, tt.h)
			first, err := a.try(t.Context(), request{key: "k"})
			if broken := err != nil; broken != (tt.slug != "") {
				t.Errorf("first: %d %q, %v", first.StatusCode, first.body, err)
			}
			rec, err := a.keeper.Get(t.Context(), semel.Key{Scope: "u", ID: "k"})
			if err != nil || rec.State == semel.Held && !rec.InDoubt() {
				t.Errorf("the key is %s, %v", rec.State, err)
			}
			switch tt.slug {
			case "-":
				if rec.State != semel.Free {
					t.Errorf("the key is %s", rec.State)
				}
			case "":
				again := a.send(t, request{key: "k"})
				again.want(t, tt.status, tt.mark)
				if again.body != first.body || tt.body != "" && again.body != tt.body || again.Header.Get("Link") != first.Header.Get("Link") ||
					again.Header.Get("Location") != first.Header.Get("Location") {
					t.Errorf("first %q %v, again %q %v", first.body, first.Header, again.body, again.Header)
				}
			default:
				again := a.send(t, request{key: "k"})
				again.wantProblem(t, tt.status, tt.slug)
			}
		})
	}
}

// What a goroutine of the handler's writes after the handler is in neither
// answer.
func TestWriteAfterTheEnd(t *testing.T) {
	writers := make(chan http.ResponseWriter, 2)
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "whole")
		writers <- w
	})
	first := a.send(t, request{key: "k"})
	w := <-writers
	if n, err := io.WriteString(w, " and more"); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	w.(http.Flusher).Flush()
	again := a.send(t, request{key: "k"})
	if first.body != "whole" || again.body != "whole" {
		t.Errorf("first %q, again %q", first.body, again.body)
	}
}

// C014: replay drops Location, ETag, Link (VSN2015/concerns_on_rails#47).
// C089: Set-Cookie and auth challenges replayed (granit-fx/granit-dotnet#1151).
// C090: credentials kept in clear in the dedup store (apache/polaris#3803).
func TestFieldsOfAReplay(t *testing.T) {
	const secret = "s3cr3t"
	perExchange := []string{
		"Set-Cookie", "Set-Cookie2", "WWW-Authenticate", "Authentication-Info", "Authorization", "Proxy-Authenticate",
		"Proxy-Authorization", "X-RateLimit-Remaining", "RateLimit", "Server", "Age", "Via", "Alt-Svc", "X-Request-Id",
		"Access-Control-Allow-Origin", "Strict-Transport-Security", "X-Named-By-Connection", "Retry-After",
	}
	kept := http.Header{
		"Content-Type": {"text/x; charset=utf-8"}, "Location": {"/things/7"}, "Etag": {`"7"`}, "Last-Modified": {"Tue, 01 Jan 2030 00:00:00 GMT"},
		"Content-Language": {"de"}, "Content-Disposition": {"inline"}, "Content-Location": {"/c"},
		"Link": {"</b>; rel=b", "</a>; rel=a", "</c>; rel=c"}, "X-Resource-Version": {"2", "1"},
	}
	a := serve(t, httpkey.Options{StoredFields: []string{"x-resource-version", "X-Named-By-Connection"}}, func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range kept {
			w.Header()[name] = values
		}
		for _, name := range perExchange {
			w.Header().Set(name, secret)
		}
		w.Header().Set("Connection", "x-named-by-connection")
		w.WriteHeader(http.StatusCreated)
	})
	q := request{key: "k", header: http.Header{"Authorization": {"Bearer " + secret}, "Cookie": {secret}}, path: "/x"}
	first, again := a.send(t, q), a.send(t, q)
	first.want(t, 201, "executed")
	again.want(t, 201, "replayed")
	if first.Header.Get("Set-Cookie") != secret {
		t.Errorf("the first answer is not whole: %v", first.Header)
	}
	for name, values := range kept {
		if got := again.Header[name]; strings.Join(got, "|") != strings.Join(values, "|") {
			t.Errorf("%s: %q, want %q", name, got, values)
		}
	}
	for _, name := range perExchange {
		if got := again.Header.Get(name); got != "" {
			t.Errorf("%s: %q was replayed", name, got)
		}
	}
	if again.Header.Get("Date") == "" {
		t.Error("no date")
	}
	rec, err := a.keeper.Get(t.Context(), semel.Key{Scope: "u", ID: "k"})
	if err != nil || len(rec.Result) == 0 || strings.Contains(string(rec.Result)+string(rec.Note)+string(rec.Fingerprint)+rec.Why, secret) {
		t.Errorf("stored: %q %q, %v", rec.Result, rec.Note, err)
	}
}

func TestFieldsThatNobodyMayStore(t *testing.T) {
	for _, name := range []string{"Set-Cookie", "set-cookie2", "AUTHORIZATION", "www-authenticate", "Proxy-Authorization", "Date", "Connection", "Idempotency-Status", "X-RateLimit-Limit", "ratelimit-policy", "Access-Control-Allow-Origin"} {
		o := httpkey.Options{StoredFields: []string{name}}
		if err := o.Check(); !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("%s may be stored: %v", name, err)
		}
	}
}
