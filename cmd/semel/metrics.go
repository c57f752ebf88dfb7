package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// metrics are the figures of one process. Labels have few values, known from the
// start: never a key, a scope or a path.
type metrics struct {
	registry *prometheus.Registry

	suppressed   *prometheus.CounterVec
	claims       *prometheus.CounterVec
	claimTime    prometheus.Histogram
	inFlight     prometheus.Gauge
	duplicateAge prometheus.Histogram
	windowMissed *prometheus.CounterVec
	late         *prometheus.CounterVec
	pruned       *prometheus.CounterVec
	storeErrors  *prometheus.CounterVec
	requests     *prometheus.CounterVec
	noID         *prometheus.CounterVec
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		suppressed: counters("duplicates_suppressed", "Repeated attempts that were kept from running.", "consumer", "source"),
		claims:     counters("claims", "Claims by what they came to.", "scope_class", "verdict"),
		claimTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "semel_claim_seconds", Help: "How long a claim that was won took.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "semel_in_flight", Help: "Attempts of this process that hold a key and have not ended.",
		}),
		duplicateAge: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "semel_duplicate_age_seconds", Help: "How old the key was when its duplicate came. What comes near the window warns that it is too short.",
			Buckets: []float64{.1, 1, 10, 60, 300, 1800, 3600, 6 * 3600, 86400, 2 * 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400},
		}),
		windowMissed: counters("window_missed", "Claims won on a done key whose window had just ended: perhaps duplicates that the window was too short for.", "consumer"),
		late:         counters("late_outcomes", "Outcomes that came after their key was settled or taken over, by whether what stands says the same.", "agrees"),
		pruned:       counters("pruned", "What was removed from the store because its time was over.", "kind"),
		storeErrors:  counters("store_errors", "Failed calls of the store.", "op"),
		requests:     counters("requests", "Requests on guarded routes by how they were dealt with. On an observed route: how they would have been.", "route", "result", "source"),
		noID:         counters("no_id", "Requests by a guarded method that carried no key.", "consumer"),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "semel_build_info", Help: "Always 1; the labels say what is running."}, []string{"version", "goversion"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		m.suppressed, m.claims, m.claimTime, m.inFlight, m.duplicateAge, m.windowMissed, m.late, m.pruned,
		m.storeErrors, m.requests, m.noID, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.known()
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "semel_" + name + "_total", Help: help}, labels)
}

// known makes the series that do not depend on a route: a counter that is not
// there until it counts cannot be watched.
func (m *metrics) known() {
	for _, agrees := range [...]string{"true", "false"} {
		m.late.WithLabelValues(agrees)
	}
	for _, kind := range [...]string{"records", "results"} {
		m.pruned.WithLabelValues(kind)
	}
	for _, op := range [...]string{"claim", "update", "get", "prune", "stats", "ping"} {
		m.storeErrors.WithLabelValues(op)
	}
}

// verdicts and results are all that a claim and a request can come to.
var (
	verdicts = []semel.Verdict{
		semel.VerdictWon, semel.VerdictAgain, semel.VerdictTakenOver, semel.VerdictDone, semel.VerdictDead, semel.VerdictBusy,
		semel.VerdictBackingOff, semel.VerdictInDoubt, semel.VerdictMismatch, semel.VerdictTooLate, semel.VerdictError,
	}
	results = []httpkey.Result{
		httpkey.Executed, httpkey.Replayed, httpkey.Waited, httpkey.InProgress, httpkey.Reused, httpkey.InDoubt,
		httpkey.Refused, httpkey.Bypassed, httpkey.Ignored, httpkey.Unrecorded, httpkey.Detached,
	}
)

// route makes a route's series.
func (m *metrics) route(name string) {
	for _, v := range verdicts {
		m.claims.WithLabelValues(name, string(v))
	}
	for _, r := range results {
		m.requests.WithLabelValues(name, string(r), resultSource(r))
	}
	m.suppressed.WithLabelValues(name, string(semel.ClientRetry))
	m.windowMissed.WithLabelValues(name)
	m.noID.WithLabelValues(name)
}

// resultSource says why there was another attempt, for results that tell that
// there was one.
func resultSource(r httpkey.Result) string {
	switch r {
	case httpkey.Replayed, httpkey.Waited, httpkey.InProgress, httpkey.InDoubt:
		return string(semel.ClientRetry)
	}
	return ""
}

func (m *metrics) request(e httpkey.Event) {
	m.requests.WithLabelValues(e.Route, string(e.Result), resultSource(e.Result)).Inc()
	if e.NoKey {
		m.noID.WithLabelValues(e.Route).Inc()
	}
}

func (m *metrics) claimed(route string, e semel.ClaimEvent) {
	m.claims.WithLabelValues(route, string(e.Verdict)).Inc()
	switch e.Verdict {
	case semel.VerdictWon, semel.VerdictAgain, semel.VerdictTakenOver:
		m.claimTime.Observe(e.Took.Seconds())
		m.inFlight.Inc()
	}
	if e.Verdict.Suppressed() {
		source := e.Source
		if source == "" {
			source = semel.Other
		}
		m.suppressed.WithLabelValues(route, string(source)).Inc()
		m.duplicateAge.Observe(e.Age().Seconds())
	}
}
