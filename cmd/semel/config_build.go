package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/httpkey"
)

// build turns the configuration into what the gateway takes. Errors are faults
// of the fields that they are about.
func (c *config) build(secret []byte) (gateway.Options, error) {
	if err := c.check(); err != nil {
		return gateway.Options{}, err
	}
	upstream, err := url.Parse(c.Upstream)
	if err != nil {
		return gateway.Options{}, &fault{"upstream", err}
	}
	tokens, err := newTokenVerifier(c.JWT)
	if err != nil {
		return gateway.Options{}, err
	}
	scopes := &scopeMaker{secret: secret, tokens: tokens, clientCA: c.TLS.ClientCAFile != ""}
	o := gateway.Options{
		Upstream:    upstream,
		DialTimeout: time.Duration(c.UpstreamDialTimeout),
		IdleTimeout: time.Duration(c.UpstreamIdleTimeout),
		MaxIdle:     c.UpstreamMaxIdle,
	}
	for i := range c.Routes {
		route, err := c.Routes[i].build(scopes, c.ProblemBase)
		if err != nil {
			var f *fault
			if errors.As(err, &f) {
				err = &fault{fmt.Sprintf("routes[%d].%s", i, f.path), f.err}
			}
			return gateway.Options{}, err
		}
		o.Routes = append(o.Routes, route)
	}
	return o, nil
}

// check looks at the fields of the top.
func (c *config) check() error {
	upstream, err := url.Parse(c.Upstream)
	switch {
	case c.Upstream == "":
		return &fault{"upstream", errors.New("there is no upstream: say where requests go")}
	case err != nil, upstream.Host == "", upstream.Scheme != "http" && upstream.Scheme != "https":
		return &fault{"upstream", errors.New("this is not an http or https URL")}
	case (c.TLS.CertFile == "") != (c.TLS.KeyFile == ""):
		return &fault{"tls", errors.New("cert_file and key_file belong together")}
	case c.TLS.ClientCAFile != "" && c.TLS.CertFile == "":
		return &fault{"tls.client_ca_file", errors.New("client certificates need a cert_file and a key_file")}
	case c.PruneEvery <= 0:
		return &fault{"prune_every", errors.New("must be more than 0: a store that nobody prunes grows for ever")}
	case c.MaxNewKeys < 0:
		return &fault{"max_new_keys", errors.New("must not be negative")}
	case c.MaxInDoubt <= 0:
		return &fault{"max_in_doubt", errors.New("must be more than 0")}
	}
	settings := reflect.ValueOf(c.Settings)
	for _, f := range reflect.VisibleFields(settings.Type()) {
		if positive(f.Type) && settings.FieldByIndex(f.Index).IsZero() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return &fault{name, errors.New("must be more than 0")}
		}
	}
	if c.Admin.TokenFile == "" && c.Admin.Listen != "off" && !loopback(c.Admin.Listen) {
		return &fault{"admin.listen", fmt.Errorf("%s can be reached from other hosts: set admin.token_file, or listen on 127.0.0.1", c.Admin.Listen)}
	}
	return errors.Join(
		oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error"),
		oneOf("log.format", c.Log.Format, "text", "json"),
		c.uniqueNames(),
	)
}

// uniqueNames sees to it that figures can be told apart.
func (c *config) uniqueNames() error {
	seen := make(map[string]bool)
	for i, r := range c.Routes {
		if seen[r.Name] {
			return &fault{fmt.Sprintf("routes[%d].name", i), fmt.Errorf("two routes are called %q", r.Name)}
		}
		seen[r.Name] = true
	}
	return nil
}

// loopback reports whether only this host reaches a listener's address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func oneOf(path, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	hint := ""
	if meant := closest(value, known); meant != "" {
		hint = fmt.Sprintf("; did you mean %s?", meant)
	}
	return &fault{path, fmt.Errorf("%q is none of %s%s", value, inSentence(known), hint)}
}

// inSentence writes a list as one reads it out.
func inSentence(words []string) (text string) {
	for i, word := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " and "
		default:
			text += ", "
		}
		text += word
	}
	return text
}

// build turns a route with all of its settings into the gateway's.
func (r *Route) build(scopes *scopeMaker, problemBase string) (gateway.Route, error) {
	err := cmpErrors(
		oneOf("guarantee", r.Guarantee, "at-most-once", "at-least-once"),
		oneOf("on_ambiguous", r.OnAmbiguous, "replay", "hold", "probe", "release"),
		oneOf("on_store_error", r.OnStoreError, "fail_closed", "fail_open"),
		oneOf("forward", r.Forward, "nothing", "derived", "same"),
	)
	if err != nil {
		return gateway.Route{}, err
	}
	scope, err := scopes.make(r.Scope, r.ScopeCookies)
	if err != nil {
		return gateway.Route{}, &fault{"scope", err}
	}
	o, err := r.options()
	if err != nil {
		return gateway.Route{}, err
	}
	o.ProblemBase = problemBase
	route := gateway.Route{Pattern: r.Pattern, Scope: scope, Options: o, Probe: r.Probe.build()}
	if r.Forward != "nothing" {
		route.Forward = gateway.Forward(r.Forward)
	}
	return route, nil
}

func cmpErrors(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Route) options() (httpkey.Options, error) {
	o := httpkey.Options{
		Route:             r.Name,
		OnAmbiguous:       httpkey.OnAmbiguous(r.OnAmbiguous),
		Methods:           r.Methods,
		Required:          *r.Required,
		MinKeyBytes:       r.MinKeyBytes,
		Strict:            *r.Strict,
		FingerprintFields: r.CompareHeaders,
		MaxRequest:        int64(r.MaxRequest),
		MaxResponse:       int(r.MaxResponse),
		StoredFields:      r.StoredHeaders,
		NotProcessed:      r.NotProcessed,
		Wait:              time.Duration(*r.Wait),
		MaxWait:           time.Duration(r.MaxWait),
		Answer:            time.Duration(r.AnswerTimeout),
		Deadline:          time.Duration(r.Deadline),
		Window:            time.Duration(r.Window),
		ResultFor:         time.Duration(r.ResultsFor),
		Lease:             time.Duration(r.Lease),
		FailOpen:          r.OnStoreError == "fail_open",
		Shadow:            *r.Observe,
	}
	if r.Guarantee == "at-least-once" {
		o.Guarantee = httpkey.AtLeastOnce
	}
	if *r.Wait == 0 {
		o.Wait = -1 // not at all
	}
	if r.KeyPattern != "" {
		pattern, err := regexp.Compile(r.KeyPattern)
		if err != nil {
			return o, &fault{"key_pattern", err}
		}
		o.KeyPattern = pattern
	}
	if err := (&httpkey.Options{StoredFields: r.StoredHeaders}).Check(); err != nil {
		return o, &fault{"stored_headers", err}
	}
	if err := (&httpkey.Options{NotProcessed: r.NotProcessed}).Check(); err != nil {
		return o, &fault{"not_processed", err}
	}
	if r.OnAmbiguous == "probe" && r.Probe == nil {
		return o, &fault{"on_ambiguous", errors.New("probe needs a probe: say what to ask the upstream")}
	}
	return o, nil
}

func (p *Probe) build() *gateway.Probe {
	if p == nil {
		return nil
	}
	header := make(http.Header)
	for name, value := range maps.All(p.Headers) {
		header.Set(name, value)
	}
	return &gateway.Probe{
		Path: p.Path, Happened: p.Happened, DidNotHappen: p.DidNotHappen,
		Timeout: time.Duration(p.Timeout), Header: header,
	}
}
