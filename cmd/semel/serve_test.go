package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestServeExitCodes(t *testing.T) {
	busy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	ready := []string{"serve", "--upstream", "http://127.0.0.1:9", "--scope", "public", "--store", "memory:"}
	with := func(args ...string) []string { return append(append([]string{}, ready...), args...) }
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing", []string{"serve"}, 64, "serve needs --upstream URL and --scope RULE"},
		{"no scope", []string{"serve", "--upstream", "http://127.0.0.1:9"}, 64, "credential "},
		{"unknown scope", with("--scope", "me"), 64, `--scope: "me" is no scope rule`},
		{"unknown flag", with("--lisen", ":1"), 64, "unknown flag"},
		{"bad upstream", with("--upstream", "ftp://x"), 64, "--upstream: this is not an http or https URL"},
		{"no file", []string{"serve", "--config", "missing.yaml"}, 78, "missing.yaml"},
		{"bad file", []string{"serve", "--config", "testdata/config/unknown-field.yaml"}, 78, "unknown-field.yaml:3:1"},
		{"public admin", with("--admin-listen", ":0"), 64, "can be reached from other hosts"},
		{"store away", with("--store", "/proc/nowhere/semel.db"), 69, "store"},
		{"unknown store", with("--store", "oracle:x"), 64, "neither a file"},
		{"port in use", with("--listen", busy.Addr().String()), 69, "address already in use"},
		{"admin port in use", with("--listen", "127.0.0.1:0", "--admin-listen", busy.Addr().String()), 69, "the admin listener"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := semelCommand(t, tt.args...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(errs.String(), tt.says) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, tt.code, tt.says, &errs)
			}
		})
	}
}

// Without a scope all five rules are explained, in a line each.
func TestServeExplainsScopes(t *testing.T) {
	out, _ := semelCommand(t, "serve", "--upstream", "http://127.0.0.1:9").CombinedOutput()
	for _, rule := range []string{"credential", "header:NAME", "jwt:CLAIM", "cert", "public"} {
		if !regexp.MustCompile(`(?m)^  ` + rule + ` +\S.*$`).Match(out) {
			t.Errorf("nothing is said of %s:\n%s", rule, out)
		}
	}
}

// C121: where do the suppressed ones go?
// (noxdafox/rabbitmq-message-deduplication#106).
func TestServeReplaysAndCounts(t *testing.T) {
	u := newUpstream(t)
	s := serve(t, "--upstream", u.URL, "--scope", "credential", "--log-level", "debug")
	if !strings.HasPrefix(s.banner, "store memory") || !strings.Contains(s.banner, "this host only") || !strings.Contains(s.banner, "at-most-once") {
		t.Errorf("banner:\n%s", s.banner)
	}
	fields := []string{"Authorization", "Basic YTpi", "Idempotency-Key", "secret-key-1"}
	first, second := send(t, "POST", s.url+"/charges", fields...), send(t, "POST", s.url+"/charges", fields...)
	if first.status != 201 || second.status != 201 || second.body != first.body || second.header.Get("Idempotent-Replayed") != "true" || u.ran.Load() != 1 {
		t.Errorf("%v\n%v\nexecuted %d times", first, second, u.ran.Load())
	}
	send(t, "POST", s.url+"/charges", "Authorization", "Basic YTpi")
	send(t, "GET", s.url+"/charges")
	scraped := send(t, "GET", s.admin+"/metrics").body
	for _, want := range []string{
		`semel_duplicates_suppressed_total{consumer="/",source="client_retry"} 1`,
		`semel_claims_total{scope_class="/",verdict="won"} 1`,
		`semel_requests_total{result="replayed",route="/",source="client_retry"} 1`,
		`semel_no_id_total{consumer="/"} 1`,
		`semel_in_flight 0`, `semel_store_rows 1`, `semel_in_doubt 0`,
	} {
		if !strings.Contains(scraped, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	series := len(seriesOf(scraped))
	for i := range 1000 {
		send(t, "POST", s.url+"/charges", "Authorization", fmt.Sprintf("Basic %d", i%10), "Idempotency-Key", fmt.Sprintf("key-%d", i))
	}
	after := seriesOf(send(t, "GET", s.admin+"/metrics").body)
	if len(after) != series {
		t.Errorf("%d series after 1,000 keys, %d before", len(after), series)
	}
	if code, _ := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := s.errs.String(); strings.Contains(log, "secret-key-1") || !strings.Contains(log, "result=replayed") {
		t.Errorf("the log shows a key, or no replay:\n%.2000s", log)
	}
}

// seriesOf returns the names and labels of what was scraped of the project's own.
func seriesOf(text string) (series []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "semel_") {
			series = append(series, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return series
}

// SIGTERM: readiness turns to 503, and what is in flight comes to its end.
func TestServeShutdownFinishesWhatIsInFlight(t *testing.T) {
	u := newUpstream(t)
	arrived, proceed := make(chan struct{}), make(chan struct{})
	u.before = func(*http.Request) {
		close(arrived)
		<-proceed
	}
	s := serve(t, "--upstream", u.URL, "--scope", "public", "--store", filepath.Join(t.TempDir(), "s.db"))
	if r := send(t, "GET", s.admin+"/readyz?verbose"); r.status != 200 || !strings.Contains(r.body, "store: ok") {
		t.Errorf("ready: %v", r)
	}
	answer := make(chan reply, 1)
	go func() {
		r, _ := trySend(t.Context(), "POST", s.url+"/charges", "Idempotency-Key", "k")
		answer <- r
	}()
	<-arrived
	ended := make(chan int, 1)
	go func() {
		code, _ := s.stop(t)
		ended <- code
	}()
	for r := send(t, "GET", s.admin+"/readyz"); r.status != 503; r = send(t, "GET", s.admin+"/readyz") {
		<-time.After(10 * time.Millisecond)
	}
	if r := send(t, "GET", s.admin+"/healthz"); r.status != 200 {
		t.Errorf("health while shutting down: %v", r)
	}
	close(proceed)
	if r := <-answer; r.status != 201 || r.body != "charged /charges" {
		t.Errorf("the request in flight got %v", r)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, s.errs)
	}
}

func TestServeObserveNeverIntervenes(t *testing.T) {
	u := newUpstream(t)
	s := serve(t, "--upstream", u.URL, "--scope", "header:X-User", "--observe")
	for range 3 {
		if r := send(t, "POST", s.url+"/charges", "X-User", "ann", "Idempotency-Key", "k"); r.status != 201 || r.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%v", r)
		}
	}
	send(t, "POST", s.url+"/charges", "Idempotency-Key", "k") // no scope
	send(t, "POST", s.url+"/charges", "X-User", "ann")        // no key
	if u.ran.Load() != 5 {
		t.Errorf("executed %d times: observing held something back", u.ran.Load())
	}
	var report []struct {
		Requests int            `json:"requests"`
		NoKey    int            `json:"no_key"`
		Results  map[string]int `json:"results"`
	}
	if err := json.Unmarshal([]byte(send(t, "GET", s.admin+"/observe").body), &report); err != nil {
		t.Fatal(err)
	}
	if r := report[0]; r.Requests != 5 || r.NoKey != 1 || r.Results["executed"] != 1 || r.Results["replayed"] != 2 || r.Results["refused"] != 1 {
		t.Errorf("report %+v", report)
	}
	if code, rest := s.stop(t); code != 0 || !regexp.MustCompile(`(?m)^/ +5 +1 +1 +2 +0 +1$`).MatchString(rest) {
		t.Errorf("code %d, report at the end:\n%s", code, rest)
	}
}

// Two gateways share one SQLite file: 1,000 concurrent requests of 50 keys.
func TestServeTwiceOnOneStore(t *testing.T) {
	u := newUpstream(t)
	store := filepath.Join(t.TempDir(), "s.db")
	a := serve(t, "--upstream", u.URL, "--scope", "credential", "--store", store)
	b := serve(t, "--upstream", u.URL, "--scope", "credential", "--store", store)
	work := make(chan int)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for i := range work {
				to := []string{a.url, b.url}[i/50%2]
				path := fmt.Sprintf("/charges/%d", i%50)
				r, err := trySend(t.Context(), "POST", to+path, "Authorization", "Basic YTpi", "Idempotency-Key", path)
				if err != nil || r.status != 201 && r.status != 409 {
					t.Errorf("request %d: %v %v", i, r, err)
				}
			}
		})
	}
	for i := range 1000 {
		work <- i
	}
	close(work)
	wg.Wait()
	for path, n := range u.byPath {
		if n != 1 {
			t.Errorf("%s was executed %d times", path, n)
		}
	}
	if len(u.byPath) != 50 {
		t.Errorf("%d keys were executed", len(u.byPath))
	}
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the store: %v %v", info.Mode(), err)
	}
}

func TestServeAdminToken(t *testing.T) {
	token := writeFile(t, "token", "0123456789abcdef\n")
	config := writeFile(t, "semel.yaml", "upstream: http://127.0.0.1:9\nscope: public\nadmin:\n  token_file: "+token+"\n")
	s := serve(t, "--config", config, "--admin-listen", ":0")
	admin := "http://127.0.0.1:" + s.admin[strings.LastIndexByte(s.admin, ':')+1:]
	for path, want := range map[string][3]int{
		"/healthz": {200, 200, 200}, "/livez": {200, 200, 200}, "/readyz": {200, 200, 200},
		"/metrics": {401, 401, 200}, "/observe": {401, 401, 200}, "/nothing": {404, 404, 404},
	} {
		got := [3]int{
			send(t, "GET", admin+path).status,
			send(t, "GET", admin+path, "Authorization", "Bearer 0123456789abcdeX").status,
			send(t, "GET", admin+path, "Authorization", "Bearer 0123456789abcdef").status,
		}
		if got != want {
			t.Errorf("%s without, with a wrong, with the token: %v, want %v", path, got, want)
		}
	}
	if r := send(t, "POST", admin+"/metrics"); r.status != 405 {
		t.Errorf("POST: %v", r.status)
	}
}

// The upstream is away: nothing was sent, and the key is free again.
func TestServeUpstreamAway(t *testing.T) {
	s := serve(t, "--upstream", "http://127.0.0.1:9", "--scope", "public")
	r := send(t, "POST", s.url+"/charges", "Idempotency-Key", "k")
	if r.status != 502 || !strings.Contains(r.body, "upstream-unreachable") {
		t.Errorf("%v", r)
	}
}
