package main

import (
	"net/url"
	"strings"
)

const redacted = "REDACTED"

// redact returns a copy of c without what could be a secret. Secrets proper are
// in files, of which c has only the names.
func (c *config) redact() *config {
	shown := *c
	shown.Upstream = redactURL(c.Upstream)
	if strings.Contains(c.Store, "://") {
		shown.Store = redactURL(c.Store)
	}
	shown.Probe = c.Probe.redact()
	shown.Routes = nil
	for _, r := range c.Routes {
		r.Probe = r.Probe.redact()
		shown.Routes = append(shown.Routes, r)
	}
	return &shown
}

func (p *Probe) redact() *Probe {
	if p == nil {
		return nil
	}
	shown := *p
	shown.Headers = make(map[string]string)
	for name := range p.Headers {
		shown.Headers[name] = redacted
	}
	return &shown
}

// redactURL takes the password out of a URL.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return redacted
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), redacted)
	}
	return u.String()
}
