package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// drainState is whether the server is on its way out.
type drainState struct{ on atomic.Bool }

func (d *drainState) draining() bool { return d.on.Load() }

// flightCount counts the attempts under way. Some outlive their request: the
// client has left, or was told that the outcome is unknown.
type flightCount struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to zero; nil: nobody waits
}

func (f *flightCount) add(d int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += d
	if f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait returns 0 when nothing is under way, or what is left when ctx ends.
func (f *flightCount) wait(ctx context.Context) int {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return 0
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return 0
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.n
	}
}

// shutdown turns readiness off, stops accepting, and lets what is in flight
// come to its end within the grace period.
func (s *server) shutdown(ctx context.Context, api *http.Server) error {
	s.drain.on.Store(true)
	s.log.Info("shutting down", "delay", s.cfg.DrainDelay, "grace", s.cfg.Grace)
	pause(ctx, time.Duration(s.cfg.DrainDelay))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.cfg.Grace))
	defer cancel()
	err := api.Shutdown(ctx)
	left := s.flight.wait(ctx)
	for _, k := range s.keepers {
		err = errors.Join(err, k.Drain(ctx))
	}
	switch {
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
