package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// paymentsAPI is the careless upstream of the demo. It charges whatever it is
// asked to charge, as often as it is asked, and answers as badly as real ones
// do: late, with an error after the charge, or not at all. It does have what
// most payment APIs have: a charge can be looked up by the caller's reference.
type paymentsAPI struct {
	mu      sync.Mutex
	rand    *rand.Rand
	charges map[string]int // by intent
}

// slowest is the longest that the API takes to carry out what it accepted.
const slowest = time.Second

// mood is how a request is answered.
type mood struct {
	delay  time.Duration
	charge bool
	status int // 0: the connection is dropped
}

func (p *paymentsAPI) mood() mood {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := mood{delay: 5*time.Millisecond + time.Duration(p.rand.IntN(40))*time.Millisecond, charge: true, status: http.StatusCreated}
	switch n := p.rand.IntN(100); {
	case n < 8: // charged, and the answer is lost
		m.status = 0
	case n < 12: // not charged, and the answer is lost
		m.charge, m.status = false, 0
	case n < 16: // charged, and the answer says that it went wrong
		m.status = http.StatusInternalServerError
	case n < 19: // not charged, and the answer says so
		m.charge, m.status = false, http.StatusServiceUnavailable
	case n < 23: // charged, long after the client has given up
		m.delay = slowest * 8 / 10
	}
	return m
}

type chargeRequest struct {
	Intent string `json:"intent"`
	Amount int    `json:"amount"`
}

func (p *paymentsAPI) charge(w http.ResponseWriter, r *http.Request) {
	var c chargeRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&c); err != nil || c.Intent == "" {
		http.Error(w, "a charge needs an intent", http.StatusBadRequest)
		return
	}
	m := p.mood()
	time.Sleep(m.delay)
	if m.charge {
		p.mu.Lock()
		p.charges[c.Intent]++
		p.mu.Unlock()
	}
	if m.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(m.status)
	fmt.Fprintf(w, `{"intent":%q,"amount":%d,"status":%d}`+"\n", c.Intent, c.Amount, m.status)
}

func (p *paymentsAPI) find(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	n := p.charges[r.PathValue("intent")]
	p.mu.Unlock()
	if n == 0 {
		http.Error(w, "no such charge", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"intent":%q,"found":true}`+"\n", r.PathValue("intent")) //nolint:gosec // JSON, for the demo's own clients
}

func (p *paymentsAPI) ledger(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(p.charges); err != nil {
		panic(http.ErrAbortHandler) // the demo has stopped listening
	}
}

// demoAPICommand runs the payments API in a process of its own.
func (a *app) demoAPICommand() *cobra.Command {
	var seed uint64
	c := &cobra.Command{
		Use:     "demo-api",
		Short:   "Run the demo's payments API",
		Example: "  semel demo-api --seed 1",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p := &paymentsAPI{rand: rand.New(rand.NewPCG(seed, 1)), charges: make(map[string]int)}
			mux := http.NewServeMux()
			mux.HandleFunc("POST /charges", p.charge)
			mux.HandleFunc("GET /charges/{intent}", p.find)
			mux.HandleFunc("GET /ledger", p.ledger)
			l, err := new(net.ListenConfig).Listen(c.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return &exitError{exitUnavailable, err}
			}
			fmt.Fprintln(a.out, l.Addr())
			return serveUntil(c.Context(), l, mux)
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "what decides its moods")
	return c
}

// serveUntil serves until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.Serve(l); ctx.Err() == nil {
		return &exitError{exitUnavailable, err}
	}
	return nil
}
