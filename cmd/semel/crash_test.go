package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// crashpoints is the binary with its stop points, built once.
func crashpoints(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "semel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "crashpoints", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// gatewayProcess is `semel serve` in a process of its own.
type gatewayProcess struct {
	cmd *exec.Cmd
	url string
	log string
}

// startServe starts the binary with a configuration and waits for its port.
func startServe(t *testing.T, bin, config string, env ...string) *gatewayProcess {
	t.Helper()
	addr, admin := unusedAddr(t), unusedAddr(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "semel.yaml")
	text := fmt.Sprintf("listen: %s\nadmin:\n  listen: %s\n%s", addr, admin, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gatewayProcess{cmd: exec.CommandContext(t.Context(), bin, "serve", "--config", file), url: "http://" + addr, log: log.Name()}
	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.cmd.Env = append(os.Environ(), env...)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.cmd.Process.Kill()
		g.cmd.Wait()
		log.Close()
	})
	g.await(t, addr)
	return g
}

// await waits for the port.
func (g *gatewayProcess) await(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr); err == nil {
			c.Close()
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	said, _ := os.ReadFile(g.log)
	t.Fatalf("the gateway did not start:\n%s", said)
}

func unusedAddr(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// charge is one attempt at a payment. A broken connection has status 0.
func charge(t *testing.T, url, key string) (status int, slug string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/charges", strings.NewReader(`{"amount":100}`))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Prefer", "wait=5")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, "", nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(body, &p)
	return resp.StatusCode, p.Code, resp.Header
}

// A gateway is killed at each of its stop points. Whatever was under way, the
// upstream carries a payment out at most once, and the retry ends in a replay,
// in doubt, or, where the route has a probe, settled.
//
// C001: key stays in progress for ever after a timeout or kill
// (aws-powertools/powertools-lambda-python#1038).
func TestKilledAtEachStopPoint(t *testing.T) {
	bin := crashpoints(t)
	for _, tt := range []struct {
		point    string
		executed int64  // how often, by the time the process is dead
		retry    string // what the retry hears without a probe: a slug, or "" for a replay
	}{
		{"claimed", 0, "outcome-unknown"},
		{"dialing", 0, "outcome-unknown"},
		{"answering", 1, "outcome-unknown"},
		{"answered", 1, "outcome-unknown"},
		{"completing", 1, "outcome-unknown"},
		{"completed", 1, ""},
		// How much of the request had reached the upstream is a race.
		{"head-sent", -1, "outcome-unknown"},
		{"body-sent", -1, "outcome-unknown"},
	} {
		for _, probe := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/probe %v", tt.point, probe), func(t *testing.T) {
				t.Parallel()
				killedAt(t, bin, tt.point, tt.executed, tt.retry, probe)
			})
		}
	}
}

func killedAt(t *testing.T, bin, point string, executed int64, retry string, probe bool) {
	t.Helper()
	var ran atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if ran.Load() == 0 {
				w.WriteHeader(http.StatusNotFound)
			}
			return
		}
		if b, err := io.ReadAll(r.Body); err != nil || len(b) == 0 {
			panic(http.ErrAbortHandler) // it never got the whole request
		}
		ran.Add(1)
		io.WriteString(w, "paid")
	}))
	defer upstream.Close()
	config := fmt.Sprintf("upstream: %s\nstore: %s\ndeadline: 1s\nroutes:\n  - pattern: /charges\n    scope: credential\n    lease: 500ms\n",
		upstream.URL, filepath.Join(t.TempDir(), "semel.db"))
	if probe {
		config += "    probe:\n      path: /charges/{key}\n"
	}
	g := startServe(t, bin, config, "SEMEL_CRASH="+point)
	if status, _, _ := charge(t, g.url, "k"); status != 0 {
		t.Fatalf("the gateway answered %d although it was to be killed", status)
	}
	err := g.cmd.Wait()
	if ws, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("the gateway ended with %v, not by SIGKILL", err)
	}
	if n := ran.Load(); executed >= 0 && n != executed {
		t.Fatalf("executed %d times when the gateway died, want %d", n, executed)
	}
	g = startServe(t, bin, config)
	status, slug, header := charge(t, g.url, "k")
	for probe && slug == "outcome-unknown" { // until the probe's word counts
		status, slug, header = charge(t, g.url, "k")
	}
	switch {
	case probe:
		if status != 200 || ran.Load() != 1 {
			t.Errorf("with a probe: %d %s, executed %d times", status, slug, ran.Load())
		}
	case retry == "":
		if status != 200 || header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("retry: %d %s", status, slug)
		}
	case slug != retry:
		t.Errorf("retry: %d %s, want %s", status, slug, retry)
	}
	if ran.Load() > 1 {
		t.Errorf("executed %d times", ran.Load())
	}
}

// The shipped binary has no stop points.
func TestShippedBinaryCannotBeKilledByItsEnvironment(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "semel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := false
	for r := bufio.NewReaderSize(f, 1<<20); ; {
		b, err := r.ReadSlice(0)
		found = found || strings.Contains(string(b), "SEMEL_CRASH")
		if err == io.EOF {
			break
		}
	}
	if found {
		t.Error("the binary knows SEMEL_CRASH")
	}
}
