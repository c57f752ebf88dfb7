package httpkey_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/httpkey"
)

// C028: is "abc" the same key as abc or ABC? (ietf-wg-httpapi/idempotency#10)
// C023: caller cannot tell a replay from a fresh run (ikyriak/IdempotentAPI#85).
func TestFormsOfOneKey(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(http.ResponseWriter, *http.Request) {})
	for i, tt := range []struct {
		field, value string
		runs         int64
	}{
		{"Idempotency-Key", "abc", 1},
		{"Idempotency-Key", `"abc"`, 1},
		{"Idempotency-Key", " abc ", 1},
		{"Idempotency-Key", `"abc"; made=today`, 1},
		{"X-Idempotency-Key", "abc", 1},
		{"Idempotency-Key", "ABC", 2},
		{"Idempotency-Key", `"a\"b"`, 3},
		{"X-Idempotency-Key", `"a\"b"`, 3},
	} {
		r := a.send(t, request{header: http.Header{tt.field: {tt.value}}})
		if r.StatusCode != http.StatusOK || a.runs.Load() != tt.runs {
			t.Errorf("%s: %s: %d, ran %d times, want %d", tt.field, tt.value, r.StatusCode, a.runs.Load(), tt.runs)
		}
		// The client recognises its key, whatever it called the field.
		if got := r.Header.Values("Idempotency-Key"); len(got) != 1 || got[0] != strings.TrimSpace(tt.value) {
			t.Errorf("%s: %s: echoed as %q", tt.field, tt.value, got)
		}
		fresh := r.Header.Get("Idempotent-Replayed") == ""
		if fresh != (r.Header.Get("Idempotency-Status") == "executed") || i == 0 && !fresh || i == 1 && fresh {
			t.Errorf("%s: %v", tt.value, r.Header)
		}
	}
}

// C004: a field that is there but empty is a mistake, on optional routes too
// (aws-powertools/powertools-lambda-typescript#1501).
func TestBlankKeyIsNoMissingKey(t *testing.T) {
	for _, required := range []bool{false, true} {
		a := serve(t, httpkey.Options{Required: required}, func(http.ResponseWriter, *http.Request) {})
		for _, value := range []string{"", "  ", "\t", `""`, `"  "`} {
			for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
				r := a.send(t, request{header: http.Header{name: {value}}})
				r.wantProblem(t, 400, "key-malformed")
			}
		}
		if a.runs.Load() != 0 {
			t.Errorf("ran %d times", a.runs.Load())
		}
	}
}

// C026: key length counted in characters at the door and bytes in the store
// (paveg/hono-idempotency#93). C027: long random key overflows the index, long
// repetitive key does not (triggerdotdev/trigger.dev#3560).
// C093: key content without bounds (josipmusa/idempotency4j#50).
func TestKeysThroughTheServer(t *testing.T) {
	a := serve(t, httpkey.Options{}, func(http.ResponseWriter, *http.Request) {})
	const random = "q8Zr!x5K#p2Lw9&Vt7*Yb4^Nc1%Md6(Hf3)Jg0-Sk_Ra+Te=Uo~Wi"
	for _, n := range []int{1, 2, 127, 128, 254, 255, 256, 300, 4000} {
		for _, key := range []string{strings.Repeat("a", n), strings.Repeat(random, n/len(random)+1)[:n]} {
			r := a.send(t, request{key: key})
			if n <= 255 {
				if r.StatusCode != http.StatusOK {
					t.Errorf("%d bytes: %d %q", n, r.StatusCode, r.body)
				}
			} else {
				r.wantProblem(t, 400, "key-too-long")
			}
		}
		for _, letter := range []string{"ж", "😀", "\xe9"} {
			r := a.send(t, request{key: strings.Repeat(letter, n)})
			r.wantProblem(t, 400, "key-malformed")
		}
	}
	for _, key := range []string{"../../etc/passwd", "%00", "${jndi:x}", "<script>"} {
		if r := a.send(t, request{key: key}); r.StatusCode != http.StatusOK {
			t.Errorf("%q is visible ASCII: %d", key, r.StatusCode)
		}
	}
}

// C008: fields that legitimately change at each attempt cause false 422
// (agentic-commerce-protocol/agentic-commerce-protocol#120).
// C025: same key on another endpoint returns the wrong operation's answer
// (stripe/stripe-ruby#598).
// C010: odd JSON: duplicate names, invalid UTF-8, 1.0 against 1
// (pineforge-4pass/pineforge-engine#135).
func TestSameRequestOrAnother(t *testing.T) {
	base := request{path: "/things/1?a=1&b=2", body: `{"a":1,"b":[1,2]}`}
	for _, tt := range []struct {
		name     string
		first    request
		again    request
		mismatch string // empty: the same request
	}{
		{"per-attempt fields", base, request{path: base.path, body: base.body, header: http.Header{
			"X-Request-Id": {"2"}, "Date": {"Tue, 01 Jan 2030 00:00:00 GMT"}, "Signature": {"s"}, "Authorization": {"rotated"}, "Traceparent": {"t"}, "Accept": {"*/*"},
		}}, ""},
		{"order of members", base, request{path: base.path, body: "{ \"b\":[1,2],\n\"\\u0061\":1}"}, ""},
		{"order of an array", base, request{path: base.path, body: `{"a":1,"b":[2,1]}`}, "body"},
		{"1 and 1.0", base, request{path: base.path, body: `{"a":1.0,"b":[1,2]}`}, "body"},
		{"trailing slash", base, request{path: "/things/1/?a=1&b=2", body: base.body}, "path"},
		{"double slash", base, request{path: "//things/1?a=1&b=2", body: base.body}, "path"},
		{"percent-encoded letter", base, request{path: "/thing%73/1?a=1&b=2", body: base.body}, "path"},
		{"percent-encoded slash", base, request{path: "/things%2F1?a=1&b=2", body: base.body}, "path"},
		{"order of the query", base, request{path: "/things/1?b=2&a=1", body: base.body}, "query"},
		{"no query", base, request{path: "/things/1", body: base.body}, "query"},
		{"case of the path", base, request{path: "/Things/1?a=1&b=2", body: base.body}, "path"},
		{"other resource", base, request{path: "/things/2?a=1&b=2", body: base.body}, "path"},
		{"method", base, request{method: http.MethodPatch, path: base.path, body: base.body}, "method"},
		{"content type", base, request{path: base.path, body: base.body, header: http.Header{"Content-Type": {"text/plain"}}}, "content-type"},
		{"charset of JSON", base, request{path: base.path, body: base.body, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}, ""},
		{"condition", base, request{path: base.path, body: base.body, header: http.Header{"If-Match": {`"7"`}}}, "if-match"},
		{"duplicate member", request{body: `{"a":1,"a":2}`}, request{body: `{"a":2}`}, "body"},
		{"duplicate member, escaped", request{body: `{"a":1,"\u0061":2}`}, request{body: `{"a":2}`}, "body"},
		{"duplicate member, same bytes", request{body: `{"a":1,"a":2}`}, request{body: `{"a":1,"a":2}`}, ""},
		{"duplicate member, other blanks", request{body: `{"a":1,"a":2}`}, request{body: `{"a":1, "a":2}`}, "body"},
		{"beyond a double", request{body: `9007199254740992`}, request{body: `9007199254740993`}, "body"},
		{"byte order mark", request{body: "\ufeff{}"}, request{body: "{}"}, "body"},
		{"half a pair", request{body: `"\ud800"`}, request{body: `"\ufffd"`}, "body"},
		{"trailing bytes", request{body: `{} x`}, request{body: `{}`}, "body"},
		{"deep", request{body: strings.Repeat("[", 100_000)}, request{body: strings.Repeat("[", 100_000)}, ""},
		{"empty and null", request{}, request{body: "null"}, "body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(w, r.Body)
			})
			tt.first.key, tt.again.key = "k", "k"
			first := a.send(t, tt.first)
			first.want(t, 200, "executed")
			if first.body != tt.first.body {
				t.Errorf("the handler got %q", first.body)
			}
			again := a.send(t, tt.again)
			if tt.mismatch == "" {
				again.want(t, 200, "replayed")
			} else {
				again.wantProblem(t, 422, "key-reused")
				if again.problem.Mismatch != tt.mismatch {
					t.Errorf("differs in %q, want %q", again.problem.Mismatch, tt.mismatch)
				}
			}
			if a.runs.Load() != 1 {
				t.Errorf("ran %d times", a.runs.Load())
			}
		})
	}
}

// C012: user amends the form after a time-out and resubmits under the same key
// (julik/idempo#21).
func TestAmendedRequest(t *testing.T) {
	const secret = "the first one's answer"
	a := serve(t, httpkey.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/secret/7")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, secret)
	})
	a.send(t, request{key: "k", body: `{"street":"A"}`})
	r := a.send(t, request{key: "k", body: `{"street":"B"}`})
	r.wantProblem(t, 422, "key-reused")
	p := r.problem
	if p.FirstStatus != 201 || p.CompletedAt == nil || p.FirstSeen == nil || p.CompletedAt.Before(*p.FirstSeen) || p.Type == "" || p.Operation == "" {
		t.Errorf("%+v", p)
	}
	if strings.Contains(r.body, secret) || r.Header.Get("Location") != "" || p.Retryable || !p.SafeNewKey || a.runs.Load() != 1 {
		t.Errorf("%v %s, ran %d times", r.Header, r.body, a.runs.Load())
	}
	// Another principal learns nothing of it.
	r = a.send(t, request{key: "k", user: "other", body: `{"street":"B"}`})
	r.want(t, 201, "executed")
}

func TestMethodsThatAreNotGuarded(t *testing.T) {
	a := serve(t, httpkey.Options{Required: true}, func(http.ResponseWriter, *http.Request) {})
	var runs int64
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete} {
		for _, key := range []string{"k", "k", "a, b", ""} {
			r := a.send(t, request{method: method, key: key})
			want := "ignored"
			if key == "" {
				want = ""
			}
			r.want(t, 200, want)
			if runs++; a.runs.Load() != runs {
				t.Errorf("%s %q: ran %d times", method, key, a.runs.Load())
			}
		}
	}
	a = serve(t, httpkey.Options{Methods: []string{http.MethodPut}}, func(http.ResponseWriter, *http.Request) {})
	a.send(t, request{method: http.MethodPut, key: "k"})
	r := a.send(t, request{method: http.MethodPut, key: "k"})
	r.want(t, 200, "replayed")
}
