package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const demoText = `The demo starts a careless payments API and, before it, two gateways that share
one store. A crowd of impatient clients sends each payment twice at once and
repeats it until it hears that it was paid, while one gateway is killed with
SIGKILL and started again. The API loses answers, answers with errors after it
has charged, and answers too late.

Then the same crowd is let loose on the API without semel.

All processes are this binary's own, on loopback addresses; their files are
removed at the end. The exit code is 0 if every payment was charged once and
nothing is left in doubt, else 1.`

func (a *app) demoCommand() *cobra.Command {
	d := &demo{app: a}
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Watch a careless payments API charge once per payment",
		Long:    demoText,
		Example: "  semel demo\n  semel demo --intents 1000 --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.Flags().IntVar(&d.intents, "intents", 300, "how many payments, 10 to 100000")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "what decides how the API misbehaves")
	c.Flags().DurationVar(&d.limit, "limit", 2*time.Minute, "how long each of the two runs may take")
	return c
}

// demo is one call of the command.
type demo struct {
	*app
	intents int
	seed    uint64
	limit   time.Duration
	dir     string
	self    string // this binary
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.intents < 10 || d.intents > 100_000 {
		return usageError("--intents is %d, it has to be 10 to 100000", d.intents)
	}
	if d.self, err = os.Executable(); err != nil {
		return &exitError{exitUnavailable, err}
	}
	if d.dir, err = os.MkdirTemp("", "semel-demo-"); err != nil {
		return &exitError{exitUnavailable, err}
	}
	defer func() { _ = os.RemoveAll(d.dir) }()
	report := &demoReport{Intents: d.intents, Clients: d.intents * clientsEach}
	if report.With, err = d.guarded(ctx); err != nil {
		return err
	}
	if report.Without, err = d.bare(ctx); err != nil {
		return err
	}
	report.OK = report.With.Twice == 0 && report.With.Lost == 0 && report.With.InDoubt == 0
	if err := report.print(d.app); err != nil || report.OK {
		return err
	}
	return &exitError{exitFindings, errors.New("the guarded run was not clean: see the table")}
}

// bare is the second run: the same storm, straight at the API.
func (d *demo) bare(ctx context.Context) (*runReport, error) {
	d.say("\nThe same storm without semel:")
	api, stop, err := d.startAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	s := newStorm(d.intents, api)
	took := d.watch(ctx, s, nil)
	return d.read(ctx, api, s, took)
}

// guarded is the first run: the storm meets two gateways, and one of them dies.
func (d *demo) guarded(ctx context.Context) (*runReport, error) {
	api, stop, err := d.startAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	var gateways [2]*child
	defer func() { stopAll(gateways[:]) }()
	var urls []string
	for i := range gateways {
		if gateways[i], err = d.startGateway(ctx, api, i); err != nil {
			return nil, err
		}
		urls = append(urls, "http://"+gateways[i].addr)
	}
	d.say("A payments API at %s, two gateways before it at %s and %s, one store: %s", api, urls[0], urls[1], d.storePath())
	d.say("%d payments, each sent by %d clients at once and repeated until it is answered:", d.intents, clientsEach)
	s := newStorm(d.intents, urls...)
	var killErr error
	took := d.watch(ctx, s, func() {
		gateways[0].kill()
		d.say("  killed one gateway with SIGKILL, starting it again")
		if killErr = gateways[0].restart(ctx); killErr == nil {
			killErr = gateways[0].ready(ctx)
		}
	})
	if killErr != nil {
		return nil, killErr
	}
	r, err := d.read(ctx, api, s, took)
	if err != nil {
		return nil, err
	}
	r.Killed = 1
	stopAll(gateways[:]) // the audit reads what they have written
	return r, d.audit(ctx, s, r)
}

func stopAll(gateways []*child) {
	for _, g := range gateways {
		if g != nil {
			g.stop()
		}
	}
}

// watch runs the storm with a line of progress each second, and calls halfway
// once when half of the clients have their answer.
func (d *demo) watch(ctx context.Context, s *storm, halfway func()) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	start := time.Now()
	done := make(chan struct{})
	go func() {
		s.run(ctx)
		close(done)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	next := time.Second
	for {
		select {
		case <-done:
			d.progress(s, time.Since(start))
			return time.Since(start)
		case <-tick.C:
		}
		if halfway != nil && s.ended.Load() >= s.clients()/2 {
			halfway()
			halfway = nil
		}
		if t := time.Since(start); t >= next {
			d.progress(s, t)
			next += time.Second
		}
	}
}

func (d *demo) progress(s *storm, t time.Duration) {
	d.say("  %4.1f s  %6d requests sent, %d of %d clients answered, %d payments seen in doubt",
		t.Seconds(), s.sent.Load(), s.ended.Load(), s.clients(), count(&s.doubts))
}

// say tells people what happens; with --json it goes to standard error.
func (d *demo) say(format string, args ...any) {
	w := d.out
	if d.json {
		w = d.err
	}
	fmt.Fprintf(w, format+"\n", args...)
}

func (d *demo) storePath() string { return filepath.Join(d.dir, "semel.db") }

// startAPI starts the payments API and returns its URL.
func (d *demo) startAPI(ctx context.Context) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, d.self, "demo-api", "--seed", fmt.Sprint(d.seed)) //nolint:gosec // this very binary
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, &exitError{exitUnavailable, err}
	}
	if err := cmd.Start(); err != nil {
		return "", nil, &exitError{exitUnavailable, err}
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, &exitError{exitUnavailable, fmt.Errorf("the payments API did not start: %w", err)}
	}
	return "http://" + strings.TrimSpace(line), stop, nil
}

// child is a gateway process that can be killed and started again.
type child struct {
	self, addr, config string
	cmd                *exec.Cmd
	log                *os.File
}

// startGateway starts a gateway before the API and waits until it is ready.
func (d *demo) startGateway(ctx context.Context, api string, n int) (*child, error) {
	c := &child{self: d.self, config: filepath.Join(d.dir, fmt.Sprintf("gateway-%d.yaml", n))}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	admin, err := freeAddr(ctx)
	if err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	c.addr = addr
	config := fmt.Sprintf(demoConfig, api, addr, admin, d.storePath(), slowest*2)
	if err := os.WriteFile(c.config, []byte(config), 0o600); err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	if c.log, err = os.Create(c.config + ".log"); err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	if err := c.restart(ctx); err != nil {
		return nil, err
	}
	return c, c.ready(ctx)
}

// freeAddr finds a port that a child can listen on, also after it was killed.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (c *child) restart(ctx context.Context) error {
	c.cmd = exec.CommandContext(ctx, c.self, "serve", "--config", c.config) //nolint:gosec // this very binary
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		return &exitError{exitUnavailable, err}
	}
	return nil
}

// ready waits until the gateway accepts connections.
func (c *child) ready(ctx context.Context) error {
	for range 200 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	said, _ := os.ReadFile(c.log.Name())
	return &exitError{exitUnavailable, fmt.Errorf("a gateway did not start; it said:\n%s", said)}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// stop ends the gateway as an operator would.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.cmd.Wait()
	_ = c.log.Close()
}

// read asks the API what it charged.
func (d *demo) read(ctx context.Context, api string, s *storm, took time.Duration) (*runReport, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/ledger", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	defer resp.Body.Close()
	var ledger map[string]int
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&ledger); err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	r := &runReport{Requests: int(s.sent.Load()), Seconds: took.Seconds(), Doubted: count(&s.doubts)}
	for i := range d.intents {
		n := ledger[intentName(i)]
		r.Charges += n
		switch n {
		case 0:
			r.Lost++
		case 1:
			r.Once++
		default:
			r.Twice++
		}
	}
	return r, nil
}
