package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/semel-dev/semel"
)

// adminHandler serves what is not for clients.
func (s *server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	alive := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.guarded(promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	mux.Handle("GET /observe", s.guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(s.snapshot()) // whoever asked may have left
	})))
	return mux
}

// guarded asks for the token, if there is one.
func (s *server) guarded(next http.Handler) http.Handler {
	if s.token == nil {
		return next
	}
	want := sha256.Sum256(s.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this needs the admin token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readAdminToken returns nil if no token is configured.
func readAdminToken(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &fault{"admin.token_file", err}
	}
	token := bytes.TrimSpace(text)
	if len(token) < minSecret {
		return nil, &fault{"admin.token_file", fmt.Errorf("the token has %d bytes: %d are needed", len(token), minSecret)}
	}
	return token, nil
}

// ready answers 200 if requests can be guarded now.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	store := s.ping(r.Context())
	draining := s.drain.draining()
	status := http.StatusOK
	if store != nil || draining {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if r.URL.Query().Has("verbose") {
		fmt.Fprintf(w, "store: %s\naccepting: %s\n", okOr(store == nil, "does not answer"), okOr(!draining, "shutting down"))
		return
	}
	fmt.Fprintln(w, okOr(status == http.StatusOK, "not ready"))
}

func okOr(ok bool, text string) string {
	if ok {
		return "ok"
	}
	return text
}

func (s *server) ping(ctx context.Context) error {
	pinger, ok := s.store.Store.(semel.Pinger)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(time.Duration(s.cfg.StoreTimeout), 2*time.Second))
	defer cancel()
	err := pinger.Ping(ctx)
	if err != nil && ctx.Err() == nil {
		s.storeFailed("ping", err)
	}
	return err
}
