package main

import (
	"fmt"
	"net"
	"strings"
	"text/tabwriter"
)

// banner is what serve prints first.
type banner struct {
	Store    string       `json:"store"`
	HostOnly bool         `json:"host_only"`
	Routes   []routeShown `json:"routes"`
	Listen   string       `json:"listen"`
	Admin    string       `json:"admin,omitempty"`
	Upstream string       `json:"upstream"`
}

// routeShown is what an operator has to know of a route.
type routeShown struct {
	Name         string   `json:"name"`
	Pattern      string   `json:"pattern"`
	Methods      []string `json:"methods"`
	Guarantee    string   `json:"guarantee"`
	Scope        string   `json:"scope"`
	Window       string   `json:"window"`
	ResultsFor   string   `json:"results_for"`
	OnAmbiguous  string   `json:"on_ambiguous"`
	OnStoreError string   `json:"on_store_error"`
	Required     bool     `json:"required"`
	Observe      bool     `json:"observe"`
	Probe        bool     `json:"probe"`
}

func (c *config) shown() (routes []routeShown) {
	for _, r := range c.Routes {
		routes = append(routes, routeShown{
			Name: r.Name, Pattern: r.Pattern, Methods: r.Methods, Guarantee: r.Guarantee, Scope: r.Scope,
			Window: r.Window.String(), ResultsFor: min(r.ResultsFor, r.Window).String(),
			OnAmbiguous: r.OnAmbiguous, OnStoreError: r.OnStoreError,
			Required: *r.Required, Observe: *r.Observe, Probe: r.Probe != nil,
		})
	}
	return routes
}

// routesText writes a line for each route, and what has to be said in words.
func routesText(routes []routeShown) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range routes {
		key := "key optional"
		if r.Required {
			key = "key required"
		}
		guarantee := r.Guarantee
		if r.Observe {
			guarantee = "observed only"
		}
		fmt.Fprintf(w, "route %s\t%s\t%s\tscope %s\t%s\twindow %s\n", r.Name, guarantee, strings.Join(r.Methods, " "), r.Scope, key, r.Window)
	}
	_ = w.Flush() // a strings.Builder takes everything
	for _, r := range routes {
		if r.Scope == "public" {
			fmt.Fprintf(&text, "note: on route %s all callers share one key space: whoever knows a key gets its answer\n", r.Name)
		}
		if r.Observe {
			fmt.Fprintf(&text, "note: route %s is observed: nothing is held back, duplicates run\n", r.Name)
		}
		if r.OnStoreError == "fail_open" {
			fmt.Fprintf(&text, "note: route %s fails open: while the store is away, duplicates run\n", r.Name)
		}
		if r.Guarantee == "at-least-once" {
			fmt.Fprintf(&text, "note: on route %s a request can run again after a crash: its effect must be safe to repeat\n", r.Name)
		}
	}
	return text.String()
}

// announce prints the banner.
func (s *server) announce(api, admin net.Listener) error {
	b := banner{Store: s.store.name, HostOnly: s.store.local, Routes: s.cfg.shown(), Listen: api.Addr().String(), Upstream: redactURL(s.cfg.Upstream)}
	reach := "shared"
	if b.HostOnly {
		reach = "this host only"
	}
	listening := fmt.Sprintf("listening on %s for %s", b.Listen, b.Upstream)
	if admin != nil {
		b.Admin = admin.Addr().String()
		listening += ", admin on " + b.Admin
	}
	return s.app.print(b, "store %s (%s)\n%s%s\n", b.Store, reach, routesText(b.Routes), listening)
}
