package main_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A client that has left leaves its request behind: it is in flight, too. The
// next process has its answer.
func TestServeShutdownWaitsForWhoseClientHasLeft(t *testing.T) {
	u := newUpstream(t)
	arrived, proceed := make(chan struct{}, 1), make(chan struct{})
	u.before = func(*http.Request) {
		arrived <- struct{}{}
		<-proceed
	}
	store := filepath.Join(t.TempDir(), "s.db")
	s := serve(t, "--upstream", u.URL, "--scope", "public", "--store", store)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := trySend(ctx, http.MethodPost, s.url+"/charges", "Idempotency-Key", "k")
		left <- err
	}()
	<-arrived
	leave()
	<-left
	s.cmd.Process.Signal(syscall.SIGTERM)
	for send(t, http.MethodGet, s.admin+"/readyz").status != http.StatusServiceUnavailable {
		<-time.After(10 * time.Millisecond)
	}
	close(proceed)
	if code, _ := s.ended(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.errs)
	}
	s = serve(t, "--upstream", u.URL, "--scope", "public", "--store", store)
	r := send(t, http.MethodPost, s.url+"/charges", "Idempotency-Key", "k")
	if r.header.Get("Idempotent-Replayed") != "true" || u.ran.Load() != 1 {
		t.Errorf("%v, executed %d times", r, u.ran.Load())
	}
}

// What does not end within the grace period is said, and in doubt afterwards.
func TestServeShutdownGraceEnds(t *testing.T) {
	u := newUpstream(t)
	arrived, proceed := make(chan struct{}, 1), make(chan struct{})
	u.before = func(*http.Request) {
		arrived <- struct{}{}
		<-proceed
	}
	defer close(proceed)
	store := filepath.Join(t.TempDir(), "s.db")
	config := writeFile(t, "semel.yaml", "upstream: "+u.URL+"\nscope: public\nlease: 500ms\ngrace: 50ms\nstore: "+store+"\n")
	s := serve(t, "--config", config, "--store", store)
	go trySend(t.Context(), http.MethodPost, s.url+"/charges", "Idempotency-Key", "k")
	<-arrived
	code, _ := s.stop(t)
	if code != 1 || !strings.Contains(s.errs.String(), "1 requests were still in flight") {
		t.Errorf("exit code %d: %s", code, s.errs)
	}
	s = serve(t, "--config", config, "--store", store)
	for deadline := time.Now().Add(20 * time.Second); ; {
		r := send(t, http.MethodPost, s.url+"/charges", "Idempotency-Key", "k", "Prefer", "wait=5")
		if strings.Contains(r.body, "outcome-unknown") {
			break
		}
		if r.status != http.StatusConflict || time.Now().After(deadline) {
			t.Fatalf("%v", r)
		}
	}
	if n := u.ran.Load(); n != 0 {
		t.Errorf("executed %d times", n)
	}
}
