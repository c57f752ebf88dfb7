package figures

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/memstore"
	"github.com/semel-dev/semel/sqlstore"
)

const (
	rounds      = 5
	connections = 64
	roundTime   = time.Second
)

// BenchmarkGateway sends requests over 64 connections to a bare reverse proxy
// and to gateways before the same upstream, which answers at once. Every
// request has a key of its own (duplicate ratio 0), but for the replays, which
// all have one (duplicate ratio 1).
func BenchmarkGateway(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"charged":true}`)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		b.Fatal(err)
	}
	floor := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections},
	})
	defer floor.Close()
	memory := startGateway(b, u, memstore.New())
	sqlite := startGateway(b, u, openSQLite(b))

	runs := []struct {
		name   string
		server *httptest.Server
		replay bool
	}{
		{"floor", floor, false},
		{"memory", memory, false},
		{"sqlite-full", sqlite, false},
		{"memory-replay", memory, true},
		{"floor-again", floor, false},
	}
	rates := make(map[string][]float64)
	for b.Loop() {
		clear(rates)
		for range rounds {
			for _, run := range runs {
				rates[run.name] = append(rates[run.name], rate(b, run.server.URL, run.replay))
			}
		}
	}
	ratio := func(name, base string) float64 {
		var r []float64
		for i, n := range rates[name] {
			r = append(r, n/rates[base][i])
		}
		slices.Sort(r)
		return r[(len(r)-1)/2]
	}
	for _, name := range []string{"memory", "sqlite-full"} {
		b.ReportMetric(ratio(name, "floor"), name+"/floor")
	}
	b.ReportMetric(ratio("memory-replay", "memory"), "replay/first")
	b.ReportMetric(ratio("floor-again", "floor"), "floor/floor")
	slices.Sort(rates["floor"])
	b.ReportMetric(rates["floor"][(rounds-1)/2], "floor-req/s")
}

func startGateway(b *testing.B, upstream *url.URL, store semel.Store) *httptest.Server {
	b.Helper()
	keeper, err := semel.New(store, nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(keeper, gateway.Options{Upstream: upstream, MaxIdle: 2 * connections, Routes: []gateway.Route{{
		Pattern: "/", Scope: func(*http.Request) (string, error) { return "bench", nil },
	}}})
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(g)
	b.Cleanup(s.Close)
	return s
}

func openSQLite(b *testing.B) semel.Store {
	b.Helper()
	file := filepath.Join(b.TempDir(), "semel.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := sqlstore.Migrate(b.Context(), db, sqlstore.SQLite); err != nil {
		b.Fatal(err)
	}
	s, err := sqlstore.New(b.Context(), db, sqlstore.SQLite, nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

var keys atomic.Int64

// rate is how many requests a second a server answers.
func rate(b *testing.B, target string, replay bool) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), roundTime)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	var answered atomic.Int64
	var wg sync.WaitGroup
	if replay { // copies of a first request that still runs would be told to come back
		if ok, err := send(ctx, transport, target, "replayed"); err != nil || !ok {
			b.Fatalf("%s: %v, %v", target, ok, err)
		}
	}
	start := time.Now()
	for range connections {
		wg.Go(func() {
			for ctx.Err() == nil {
				key := "replayed"
				if !replay {
					key = fmt.Sprint("k", keys.Add(1))
				}
				switch ok, err := send(ctx, transport, target, key); {
				case ctx.Err() != nil:
				case err != nil || !ok:
					b.Errorf("%s: %v, %v", target, ok, err)
					return
				default:
					answered.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return float64(answered.Load()) / time.Since(start).Seconds()
}

func send(ctx context.Context, transport *http.Transport, target, key string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/charges", strings.NewReader(`{"amount":100}`))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK, err
}
