package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel"
)

// statsAge is how long a store's description is used: it may read the whole
// table, and whoever scrapes must not be able to make it do so at will.
const statsAge = 10 * time.Second

// storeCollector reports what the store says of itself.
type storeCollector struct {
	store   semel.Statser
	failed  func(error)
	timeout time.Duration

	mu    sync.Mutex
	asked time.Time
	stats semel.Stats
	err   error

	rows, inDoubt, oldest *prometheus.Desc
}

func newStoreCollector(store semel.Statser, timeout time.Duration, failed func(error)) *storeCollector {
	return &storeCollector{
		store: store, timeout: timeout, failed: failed,
		rows:    prometheus.NewDesc("semel_store_rows", "Records in the store, in any state, of all its processes.", nil, nil),
		inDoubt: prometheus.NewDesc("semel_in_doubt", "Keys in doubt in the store: their effect may have happened, and somebody has to find out.", nil, nil),
		oldest:  prometheus.NewDesc("semel_oldest_seconds", "Age of the oldest record in the store.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *storeCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.rows
	ch <- c.inDoubt
	ch <- c.oldest
}

// Collect implements prometheus.Collector. A store that does not answer has no
// figures: old ones would look like good news.
func (c *storeCollector) Collect(ch chan<- prometheus.Metric) {
	stats, err := c.ask()
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.rows, prometheus.GaugeValue, float64(stats.Rows))
	ch <- prometheus.MustNewConstMetric(c.inDoubt, prometheus.GaugeValue, float64(stats.InDoubt))
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, stats.Oldest.Seconds())
}

func (c *storeCollector) ask() (semel.Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && time.Since(c.asked) < statsAge {
		return c.stats, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.stats, c.err = c.store.Stats(ctx)
	c.asked = time.Now()
	if c.err != nil {
		c.failed(c.err)
	}
	return c.stats, c.err
}
