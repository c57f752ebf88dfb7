package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// The page's commands run in order, with its ports replaced by free ones, and
// have to print what it shows. Neither a shell nor curl is needed for that.
func TestPutTheGatewayBeforeAnAPI(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/put-the-gateway-before-an-api.md")
	if err != nil {
		t.Fatal(err)
	}
	var charges atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "{\"charge\":%d}\n", charges.Add(1))
	}))
	defer api.Close()
	p := &page{dir: t.TempDir(), api: api.URL, listen: unusedAddr(t), admin: unusedAddr(t)}
	_, yaml, _ := strings.Cut(string(text), "```yaml\n")
	yaml, _, _ = strings.Cut(yaml, "```")
	if err := os.WriteFile(filepath.Join(p.dir, "semel.yaml"), []byte(p.real(yaml)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(strings.TrimSuffix(step, "\n")+"\n", "\n")
			if got := p.run(t, command, strings.Count(want, "\n")); got != want {
				t.Errorf("block %d: $ %s\nprints:\n%s\nthe page has:\n%s", i+1, command, got, want)
			}
		}
	}
}

// page carries out the few forms of commands that the page uses.
type page struct {
	dir                string
	api, listen, admin string
	job                *exec.Cmd // in the background
	printed            *bufio.Reader
}

// real replaces the page's addresses by those of this run; shown does the
// reverse.
func (p *page) real(text string) string {
	return strings.NewReplacer("http://localhost:3000", p.api, "localhost:8080", p.listen, "localhost:8081", p.admin).Replace(text)
}

func (p *page) shown(text string) string {
	return strings.NewReplacer(p.api, "http://localhost:3000", p.listen, "[::]:8080", p.admin, "127.0.0.1:8081").Replace(text)
}

func (p *page) run(t *testing.T, command string, lines int) string {
	t.Helper()
	command, filter, _ := strings.Cut(command, " | grep ^")
	words := words(p.real(command))
	switch {
	case command == "kill %1; wait %1":
		p.job.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(p.printed)
		p.job.Wait()
		return p.shown(string(rest))
	case words[0] == "semel" && words[len(words)-1] == "&":
		return p.background(t, words[1:len(words)-1], lines)
	case words[0] == "semel":
		out, _ := p.command(t, words[1:]).CombinedOutput()
		return p.shown(string(out))
	case words[0] == "curl":
		var kept strings.Builder
		for line := range strings.Lines(curl(t, words[1:])) {
			if strings.HasPrefix(line, filter) {
				kept.WriteString(line)
			}
		}
		return kept.String()
	}
	t.Fatalf("the test does not know how to carry out: %s", command)
	return ""
}

func (p *page) command(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	cmd := semelCommand(t, args...)
	cmd.Dir = p.dir
	cmd.Env = append(cmd.Env, "SEMEL_LISTEN="+p.listen, "SEMEL_ADMIN_LISTEN="+p.admin)
	return cmd
}

// background starts a command and returns its first lines.
func (p *page) background(t *testing.T, args []string, lines int) string {
	t.Helper()
	p.job = p.command(t, args)
	out, err := p.job.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.job.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.job.Process.Kill() })
	p.printed = bufio.NewReader(out)
	var text string
	for range lines {
		line, _ := p.printed.ReadString('\n')
		text += line
	}
	return p.shown(text)
}

// words splits a command as a shell does, as far as single quotes go.
func words(command string) (list []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// curl does what the page's options mean: -s -o -w -X -H -d.
func curl(t *testing.T, args []string) string {
	t.Helper()
	method, url, body, format := http.MethodGet, "", "", ""
	header := make(http.Header)
	for i := 0; i < len(args); i++ {
		switch option := args[i]; option {
		case "-s":
		case "-o", "-w", "-X", "-H", "-d":
			i++
			switch option {
			case "-w":
				format = args[i]
			case "-X":
				method = args[i]
			case "-d":
				body = args[i]
			case "-H":
				name, value, _ := strings.Cut(args[i], ": ")
				header.Add(name, value)
			}
		default:
			url = args[i]
		}
	}
	if !strings.HasPrefix(url, "http") {
		url = "http://" + url
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if format != "" {
		return strings.NewReplacer(`%{http_code}`, fmt.Sprint(resp.StatusCode), `\n`, "\n").Replace(format)
	}
	answer, _ := io.ReadAll(resp.Body)
	return string(answer)
}
