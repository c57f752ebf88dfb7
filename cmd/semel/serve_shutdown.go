package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// drainState is whether the server is on its way out.
type drainState struct{ on atomic.Bool }

func (d *drainState) draining() bool { return d.on.Load() }

// shutdown turns readiness off, stops accepting, and lets what is in flight
// come to its end within the grace period.
func (s *server) shutdown(ctx context.Context, api *http.Server) error {
	s.drain.on.Store(true)
	s.log.Info("shutting down", "delay", s.cfg.DrainDelay, "grace", s.cfg.Grace)
	pause(ctx, time.Duration(s.cfg.DrainDelay))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.cfg.Grace))
	defer cancel()
	err := api.Shutdown(ctx)
	for _, k := range s.keepers {
		err = errors.Join(err, k.Drain(ctx)) // some attempts outlive their request
	}
	switch left := s.flight.Load(); {
	case left > 0:
		return &exitError{exitFindings, fmt.Errorf("%d requests were still in flight after %v: their keys are in doubt until they are settled", left, s.cfg.Grace)}
	case err != nil:
		return &exitError{exitFindings, fmt.Errorf("not everything came to its end within %v: %w", s.cfg.Grace, err)}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// pruneBatch bounds what one step of pruning removes: other claims wait for it.
const pruneBatch = 500

// startPruning removes in the background what is no longer remembered. The
// channel is closed when it has stopped.
func (s *server) startPruning(ctx context.Context) <-chan struct{} {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTicker(time.Duration(s.cfg.PruneEvery))
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				s.prune(ctx)
			}
		}
	}()
	return stopped
}

func (s *server) prune(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := s.keepers[0].Prune(ctx, pruneBatch)
		if err != nil || p.Records < pruneBatch && p.Results < pruneBatch {
			return
		}
	}
}
