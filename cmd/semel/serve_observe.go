package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

func newLogger(w io.Writer, c Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // checked with the configuration
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// observer reports a route's claims.
func (s *server) observer(route string) *semel.Observer {
	return &semel.Observer{
		Claimed: func(e semel.ClaimEvent) {
			s.metrics.claimed(route, e)
			switch e.Verdict {
			case semel.VerdictWon, semel.VerdictAgain, semel.VerdictTakenOver:
				s.flight.Add(1)
			}
		},
		Ended: func(e semel.EndEvent) {
			s.metrics.inFlight.Dec()
			s.flight.Add(-1)
			if e.End == semel.EndDoubted || e.End == semel.EndUnrecorded || e.End == semel.EndLost {
				s.log.Warn("an attempt ended without a recorded outcome", "route", route, "key", e.Key.ClaimID(), "end", e.End, "why", e.Why)
			}
		},
		Late: func(e semel.LateEvent) {
			s.metrics.late.WithLabelValues(fmt.Sprint(e.Agrees)).Inc()
			s.log.Warn("an outcome came after its key was settled", "route", route, "key", e.Key.ClaimID(), "outcome", e.End, "agrees", e.Agrees, "stands", e.Stands.State)
		},
		WindowMissed: func(key semel.Key, lateness time.Duration) {
			s.metrics.windowMissed.WithLabelValues(route).Inc()
			s.log.Warn("a done key ran again after its window", "route", route, "key", key.ClaimID(), "late_by", lateness)
		},
		StoreError: s.storeFailed,
		Pruned: func(p semel.Pruned) {
			s.metrics.pruned.WithLabelValues("records").Add(float64(p.Records))
			s.metrics.pruned.WithLabelValues("results").Add(float64(p.Results))
		},
	}
}

func (s *server) storeFailed(op string, err error) {
	s.metrics.storeErrors.WithLabelValues(op).Inc()
	s.log.Error("the store failed", "op", op, "error", err)
}

// observe hears how each request was dealt with.
func (s *server) observe(e httpkey.Event) {
	s.metrics.request(e)
	s.watched.add(e)
	level := slog.LevelDebug
	attrs := []slog.Attr{slog.String("route", e.Route), slog.String("result", string(e.Result)), slog.Duration("took", e.Took)}
	if e.Slug != "" {
		attrs = append(attrs, slog.String("problem", e.Slug))
	}
	if e.Key.ID != "" {
		// The digest, which a problem document shows as its operation: a key is
		// as good as a password to its answer.
		attrs = append(attrs, slog.String("key", e.Key.ClaimID()))
	}
	if resultSource(e.Result) != "" {
		if omitted, ok := s.sampler.allow(time.Now()); ok {
			level = slog.LevelInfo
			attrs = append(attrs, slog.Int("omitted", omitted))
		}
	}
	s.log.LogAttrs(context.Background(), level, "request", attrs...)
}

// sampler lets one in each second through and counts the others.
type sampler struct {
	mu      sync.Mutex
	last    time.Time
	omitted int
}

func (s *sampler) allow(now time.Time) (omitted int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < time.Second {
		s.omitted++
		return 0, false
	}
	omitted, s.omitted, s.last = s.omitted, 0, now
	return omitted, true
}

// observations count, by route, how requests were dealt with, or would have
// been. The zero value is ready to use.
type observations struct {
	mu     sync.Mutex
	routes map[string]*observed
}

// observed is what is known of one route.
type observed struct {
	Route    string         `json:"route"`
	Observe  bool           `json:"observe"` // only watched
	Requests int            `json:"requests"`
	NoKey    int            `json:"no_key"`
	Results  map[string]int `json:"results"`
	Problems map[string]int `json:"problems"`
}

func (o *observations) add(e httpkey.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.routes == nil {
		o.routes = make(map[string]*observed)
	}
	r := o.routes[e.Route]
	if r == nil {
		r = &observed{Route: e.Route, Results: make(map[string]int), Problems: make(map[string]int)}
		o.routes[e.Route] = r
	}
	r.Requests++
	r.Results[string(e.Result)]++
	if e.Slug != "" {
		r.Problems[e.Slug]++
	}
	if e.NoKey {
		r.NoKey++
	}
}

// snapshot returns the counts of the routes in their order.
func (s *server) snapshot() []observed {
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	list := make([]observed, 0, len(s.cfg.Routes))
	for _, route := range s.cfg.Routes {
		o := observed{Route: route.Name, Results: map[string]int{}, Problems: map[string]int{}}
		if seen := s.watched.routes[route.Name]; seen != nil {
			o.Requests, o.NoKey = seen.Requests, seen.NoKey
			for k, n := range seen.Results {
				o.Results[k] = n
			}
			for k, n := range seen.Problems {
				o.Problems[k] = n
			}
		}
		o.Observe = *route.Observe
		list = append(list, o)
	}
	return list
}

// report prints what was observed, at the end.
func (s *server) report() error {
	var list []observed
	for _, o := range s.snapshot() {
		if o.Observe {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if s.app.json {
		return s.app.print(list, "")
	}
	w := tabwriter.NewWriter(s.app.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "observed\trequests\twithout key\twould have run\treplayed\theld\trefused")
	for _, o := range list {
		n := func(results ...httpkey.Result) (sum int) {
			for _, r := range results {
				sum += o.Results[string(r)]
			}
			return sum
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", o.Route, o.Requests, o.NoKey, n(httpkey.Executed),
			n(httpkey.Replayed, httpkey.Waited), n(httpkey.InProgress, httpkey.InDoubt), n(httpkey.Reused, httpkey.Refused))
	}
	return w.Flush()
}
