package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
)

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Guard an HTTP API: a reverse proxy with idempotency keys",
		Long: "serve passes requests on to an upstream and gives POST and PATCH requests\n" +
			"idempotency keys: a request that is sent again under the same key gets the\n" +
			"first one's answer, and its effect happens once.\n\n--scope says " + scopeHelp,
		Example: "  semel serve --upstream http://localhost:3000 --scope credential\n" +
			"  semel serve --upstream http://localhost:3000 --scope header:X-User --observe\n" +
			"  semel serve --config semel.yaml",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c.Flags())
			if err != nil {
				return err
			}
			if cfg.file == nil && cfg.Upstream == "" {
				return usageError("serve needs --upstream URL and --scope RULE, or --config FILE")
			}
			if cfg.file == nil && cfg.Scope == "" {
				return usageError("serve needs --scope RULE: %s", scopeHelp)
			}
			return a.serve(c.Context(), cfg)
		},
	}
	bindConfigFlags(c.Flags())
	return c
}

// server is a gateway at work.
type server struct {
	app     *app
	cfg     *configSource
	log     *slog.Logger
	store   *opened
	metrics *metrics
	flight  atomic.Int64 // attempts under way
	sampler sampler
	watched observations
	drain   drainState
	token   []byte          // of the admin listener; nil: none
	keepers []*semel.Keeper // one for each route, so that events can be told apart
	handler http.Handler
}

func (a *app) serve(ctx context.Context, cfg *configSource) error {
	// Mistakes come to light before anything is opened or made.
	if err := cfg.verify(); err != nil { //nolint:contextcheck // handlers have their requests' contexts
		return cfg.explain(err)
	}
	s := &server{app: a, cfg: cfg, metrics: newMetrics(version()), log: newLogger(a.err, cfg.Log)}
	slog.SetDefault(s.log) // the reverse proxy logs there
	for _, warning := range misspeltVariables() {
		s.log.Warn(warning)
	}
	var err error
	if s.store, err = openStore(ctx, cfg.Store, true); err != nil {
		return err
	}
	err = s.run(ctx)
	if closing := s.store.close(); closing != nil && err == nil {
		err = &exitError{exitUnavailable, fmt.Errorf("closing the store: %w", closing)}
	}
	return err
}

func (s *server) run(ctx context.Context) error {
	if err := s.prepare(); err != nil { //nolint:contextcheck // handlers have their requests' contexts
		return err
	}
	main, admin, err := s.listen(ctx)
	if err != nil {
		return err
	}
	if err := s.announce(main, admin); err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	pruning := s.startPruning(background)

	failed := make(chan error, 2)
	api := newHTTPServer(s.handler, s.log)
	go func() { failed <- api.Serve(main) }()
	var ops *http.Server
	if admin != nil {
		ops = newHTTPServer(s.adminHandler(), s.log)
		go func() { failed <- ops.Serve(admin) }()
		defer func() { _ = ops.Close() }() // nothing there is worth waiting for
	}
	select {
	case err := <-failed:
		return &exitError{exitUnavailable, err}
	case <-ctx.Done():
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // a second signal ends at once
	err = s.shutdown(background, api)
	stop()
	<-pruning
	return errors.Join(err, s.report())
}

// prepare makes the handler.
func (s *server) prepare() error {
	secret, err := secretFor(s.cfg.SecretFile, s.store)
	if err != nil {
		return s.cfg.explain(&fault{"secret_file", err})
	}
	o, err := s.cfg.build(secret)
	if err != nil {
		return s.cfg.explain(err)
	}
	for i := range o.Routes {
		if err := s.equip(&s.cfg.Routes[i], &o.Routes[i], secret); err != nil {
			return s.cfg.explain(keeperFault(i, err))
		}
	}
	if statser, ok := s.store.Store.(semel.Statser); ok {
		s.metrics.registry.MustRegister(newStoreCollector(statser, time.Duration(s.cfg.StoreTimeout), func(err error) {
			s.storeFailed("stats", err)
		}))
	}
	if s.token, err = readAdminToken(s.cfg.Admin.TokenFile); err != nil {
		return s.cfg.explain(err)
	}
	if s.handler, err = gateway.New(s.keepers[0], o); err != nil {
		return s.cfg.explain(&fault{"routes", err})
	}
	return nil
}

// equip gives a route a Keeper that reports under the route's name.
func (s *server) equip(r *Route, to *gateway.Route, secret []byte) error {
	s.metrics.route(r.Name)
	o := s.cfg.keeperOptions(&to.Options)
	o.Secret, o.Observer = secret, s.observer(r.Name)
	keeper, err := semel.New(s.store.Store, o)
	if err != nil {
		return err
	}
	s.keepers = append(s.keepers, keeper)
	to.Keeper = keeper
	to.Options.Observe = s.observe
	return nil
}

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// listen opens the listeners; admin may be nil.
func (s *server) listen(ctx context.Context) (api, admin net.Listener, err error) {
	tlsConfig, err := s.cfg.TLS.load()
	if err != nil {
		return nil, nil, s.cfg.explain(err)
	}
	var lc net.ListenConfig
	if api, err = lc.Listen(ctx, "tcp", s.cfg.Listen); err != nil {
		return nil, nil, &exitError{exitUnavailable, err}
	}
	if tlsConfig != nil {
		api = tlsListener(api, tlsConfig)
	}
	if s.cfg.Admin.Listen == "off" {
		return api, nil, nil
	}
	if admin, err = lc.Listen(ctx, "tcp", s.cfg.Admin.Listen); err != nil {
		return nil, nil, &exitError{exitUnavailable, errors.Join(fmt.Errorf("the admin listener: %w", err), api.Close())}
	}
	return api, admin, nil
}
