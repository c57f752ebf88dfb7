package sqlite

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/history"
)

// Two gateways on one file, each with connections of its own: 1,000 requests of
// 50 keys at once, before an upstream that loses every seventh answer after it
// has done the work. No key runs twice, and the history of the store's answers
// is one that the rules allow.
func TestTwoGatewaysOnOneFile(t *testing.T) { each(t, twoGateways) }

func twoGateways(t *testing.T, driver string) {
	t.Helper()
	const keys, requests = 50, 1000
	var mu sync.Mutex
	executed := make(map[string]int)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		executed[r.URL.Path]++
		lost := len(executed)%7 == 0
		mu.Unlock()
		if lost {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	var recorder history.Recorder
	path := filepath.Join(t.TempDir(), "semel.db")
	var gateways []string
	for range 2 {
		keeper, err := semel.New(history.Store{Store: open(t, driver, path), To: &recorder}, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.New(keeper, gateway.Options{Upstream: u, Routes: []gateway.Route{{
			Pattern: "/", Scope: func(*http.Request) (string, error) { return "tester", nil },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(g)
		t.Cleanup(s.Close)
		gateways = append(gateways, s.URL)
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range work {
				send(t, fmt.Sprintf("%s/%d", gateways[i/keys%2], i%keys), fmt.Sprint("key-", i%keys))
			}
		})
	}
	for i := range requests {
		work <- i
	}
	close(work)
	wg.Wait()
	for path, n := range executed {
		if n != 1 {
			t.Errorf("%s was executed %d times", path, n)
		}
	}
	if len(executed) != keys {
		t.Errorf("%d of %d keys were executed", len(executed), keys)
	}
	recorder.Verify(t)
}

// send sends one request, and accepts what a gateway may say of a key that is
// done, running or in doubt.
func send(t *testing.T, target, key string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("{}"))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		t.Error(err)
	case resp.StatusCode == http.StatusOK && !strings.HasSuffix(target, string(body)):
		t.Errorf("%s got the answer %q", target, body)
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusConflict && resp.StatusCode != http.StatusBadGateway:
		t.Errorf("%s: %s %s", target, resp.Status, body)
	}
}
