package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// storm is a crowd of impatient clients. Each intent is sent by two of them at
// once, as a double click or a redelivery does, and repeated by each until it
// hears a final answer.
type storm struct {
	targets []string // base URLs; a client changes between them as it retries
	intents int
	client  *http.Client

	sent   atomic.Int64
	ended  atomic.Int64 // clients that have a final answer
	doubts sync.Map     // intent → struct{}: was in doubt at some time
}

const (
	clientTimeout = 400 * time.Millisecond
	retryEvery    = 150 * time.Millisecond // impatient: Retry-After is not for them
	clientsEach   = 2
	stormWidth    = 64 // clients at a time
)

func newStorm(intents int, targets ...string) *storm {
	return &storm{targets: targets, intents: intents, client: &http.Client{
		Timeout:   clientTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: stormWidth},
	}}
}

func intentName(i int) string { return fmt.Sprintf("intent-%04d", i) }

// clients is how many clients the storm has.
func (s *storm) clients() int64 { return int64(s.intents * clientsEach) }

// run lets all clients go until they are done or ctx ends.
func (s *storm) run(ctx context.Context) {
	var wg sync.WaitGroup
	width := make(chan struct{}, stormWidth)
	for i := range s.intents {
		for range clientsEach {
			width <- struct{}{}
			wg.Go(func() {
				s.insist(ctx, intentName(i))
				<-width
			})
		}
	}
	wg.Wait()
}

// insist repeats one intent until the answer is final.
func (s *storm) insist(ctx context.Context, intent string) {
	defer s.ended.Add(1)
	for n := rand.IntN(len(s.targets)); ctx.Err() == nil; n++ {
		s.sent.Add(1)
		if s.try(ctx, s.targets[n%len(s.targets)], intent) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery/2 + rand.N(retryEvery)):
		}
	}
}

// try sends one request and reports whether its answer is final.
func (s *storm) try(ctx context.Context, target, intent string) bool {
	body, err := json.Marshal(chargeRequest{intent, 100})
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/charges", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer demo-client")
	req.Header.Set("Idempotency-Key", `"`+intent+`"`)
	// net/http would repeat a request with this field by itself, which is one
	// kind of storm more than this demo wants to count.
	req.GetBody = nil
	resp, err := s.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if bytes.Contains(answer, []byte(`"code":"outcome-unknown"`)) {
		s.doubts.Store(intent, struct{}{})
	}
	return resp.StatusCode < 300
}

// count is how many entries a map has.
func count(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}
