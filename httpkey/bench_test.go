package httpkey_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// discard is a client that wants nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// timed runs a handler for one request and adds the time that it took.
func timed(h http.Handler, r *http.Request, body string, total *time.Duration) {
	r.Body = http.NoBody
	if body != "" {
		r.Body = io.NopCloser(strings.NewReader(body))
	}
	r.ContentLength = int64(len(body))
	w := &discard{h: make(http.Header)}
	start := time.Now()
	h.ServeHTTP(w, r)
	*total += time.Since(start)
}

// BenchmarkMiddleware takes turns between a bare handler and a guarded one, so
// that both meet the same noise, and reports what the guard adds.
func BenchmarkMiddleware(b *testing.B) {
	const small = `{"order":"7b0c1f8e-4c9e-4b35-9a43-1d2f7b0f1c55","amount":129900,"currency":"EUR","customer":{"name":"Jane Doe","id":4711,"vip":false},"lines":[{"sku":"A-1","qty":2},{"sku":"B-2","qty":1}],"note":null}`
	for _, bb := range []struct {
		name, body string
		replay     bool
	}{{"no-body", "", false}, {"json-200B", small, false}, {"replay", small, true}} {
		b.Run(bb.name, func(b *testing.B) {
			keeper, err := semel.New(memstore.New(), nil)
			if err != nil {
				b.Fatal(err)
			}
			bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, "ok")
			})
			guarded := httpkey.Middleware(keeper, byUser, nil)(bare)
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/orders?x=1", nil)
			r.Header = http.Header{"Content-Type": {"application/json"}, "X-User": {"u"}, "Idempotency-Key": {"k"}}
			var without, with time.Duration
			timed(guarded, r, bb.body, &with) // for replays
			b.ReportAllocs()
			with = 0
			for i := 0; b.Loop(); i++ {
				timed(bare, r, bb.body, &without)
				if !bb.replay {
					r.Header["Idempotency-Key"][0] = strconv.Itoa(i)
				}
				timed(guarded, r, bb.body, &with)
			}
			b.ReportMetric(float64((with-without).Nanoseconds())/float64(b.N), "added-ns/op")
			b.ReportMetric(testing.AllocsPerRun(200, func() {
				if !bb.replay {
					r.Header["Idempotency-Key"][0] = strconv.FormatInt(time.Now().UnixNano(), 10)
				}
				timed(guarded, r, bb.body, &with)
			})-testing.AllocsPerRun(200, func() { timed(bare, r, bb.body, &without) }), "added-allocs/op")
		})
	}
}

// BenchmarkCore is the share of the above that the Keeper takes: a claim, a
// lease kept alive, a completion.
func BenchmarkCore(b *testing.B) {
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		lease, _, err := keeper.Claim(b.Context(), semel.Key{Scope: "u", ID: strconv.Itoa(i)}, &semel.ClaimOptions{Note: []byte("note")})
		if err != nil {
			b.Fatal(err)
		}
		_, stop := lease.KeepAlive(b.Context())
		stop()
		if err := lease.Complete(b.Context(), []byte("ok")); err != nil {
			b.Fatal(err)
		}
	}
}
