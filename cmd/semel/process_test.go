package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// shipped builds the binary as it is shipped, once. It lies beside this test,
// in a folder that go test removes.
var shipped = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(filepath.Dir(os.Args[0]), "semel-shipped")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return bin, err
})

// semelCommand prepares a run of the binary that sees no configuration but its own.
func semelCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// served is a serving process.
type served struct {
	cmd    *exec.Cmd
	url    string
	admin  string
	rest   chan string // what it printed after its banner, when it has ended
	errs   *bytes.Buffer
	banner string
}

var listening = regexp.MustCompile(`^listening on (\S+) for \S+?(?:, admin on (\S+))?$`)

// serve starts semel serve on free ports and waits for its banner. Without an
// argument --store the keys are in memory.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--store") {
		args = append(args, "--store", "memory:")
	}
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	if !strings.Contains(strings.Join(args, " "), "--admin-listen") {
		args = append(args, "--admin-listen", "127.0.0.1:0")
	}
	s := &served{cmd: semelCommand(t, args...), rest: make(chan string, 1), errs: &bytes.Buffer{}}
	s.cmd.Stderr = s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	for s.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.cmd.Wait()
			t.Fatalf("it did not start: %v\n%s", err, s.errs)
		}
		s.banner += line
		if m := listening.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			s.url, s.admin = "http://"+m[1], "http://"+m[2]
		}
	}
	go func() {
		rest, _ := io.ReadAll(lines)
		s.rest <- string(rest)
	}()
	return s
}

// stop ends the process as an operator does, and returns its exit code and what
// it said at its end.
func (s *served) stop(t *testing.T) (code int, rest string) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	return s.ended(t)
}

// ended waits for the process's end.
func (s *served) ended(t *testing.T) (code int, rest string) {
	t.Helper()
	rest = <-s.rest
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode(), rest
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request, with fields given as pairs of name and value.
func send(t *testing.T, method, url string, fields ...string) reply {
	t.Helper()
	r, err := trySend(t.Context(), method, url, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}

func trySend(ctx context.Context, method, url string, fields ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(`{"amount":100}`))
	if err != nil {
		return reply{}, err
	}
	if method == http.MethodGet {
		req.Body, req.ContentLength, req.GetBody = http.NoBody, 0, nil
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

// upstream counts what it carries out, in all and by path.
type upstream struct {
	*httptest.Server
	ran    atomic.Int64
	mu     sync.Mutex
	byPath map[string]int
	before func(*http.Request) // what it does first, if not nil
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{byPath: make(map[string]int)}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if u.before != nil {
			u.before(r)
		}
		u.ran.Add(1)
		u.mu.Lock()
		u.byPath[r.URL.Path]++
		u.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "charged "+r.URL.Path)
	}))
	t.Cleanup(u.Close)
	return u
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
