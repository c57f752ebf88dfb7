package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// keeperOptions are those of the Keeper of a route.
func (c *config) keeperOptions(o *httpkey.Options) *semel.Options {
	return &semel.Options{
		Window: o.Window, Lease: o.Lease, Wait: max(0, o.Wait),
		Timeout:        time.Duration(c.StoreTimeout),
		MaxResult:      max(1<<20, o.MaxResponse+64<<10),
		MaxNew:         c.MaxNewKeys,
		MaxInDoubt:     c.MaxInDoubt,
		EffectDeadline: o.Deadline,
	}
}

// verify finds every mistake that can be found without the store and the
// upstream, by making all that serve makes.
func (c *config) verify() error {
	o, err := c.build(make([]byte, minSecret))
	if err != nil {
		return err
	}
	var keeper *semel.Keeper
	for i := range o.Routes {
		if keeper, err = semel.New(memstore.New(), c.keeperOptions(&o.Routes[i].Options)); err != nil {
			return keeperFault(i, err)
		}
	}
	if keeper == nil {
		return &fault{"routes", fmt.Errorf("there is no route: leave the field out for one that is every path")}
	}
	if _, err := gateway.New(keeper, o); err != nil {
		return &fault{"routes", err}
	}
	if _, err := c.TLS.load(); err != nil {
		return err
	}
	if c.SecretFile != "" {
		if _, err := readSecret(c.SecretFile); err != nil {
			return &fault{"secret_file", err}
		}
	}
	_, err = readAdminToken(c.Admin.TokenFile)
	return err
}

// keeperFault names the field that the Keeper of a route refuses.
func keeperFault(route int, err error) error {
	name := "window"
	switch text := err.Error(); {
	case strings.Contains(text, "store time-out"):
		return &fault{"store_timeout", err}
	case strings.Contains(text, ": lease of"):
		name = "lease"
	case strings.Contains(text, "effect deadline"):
		name = "deadline"
	}
	return &fault{fmt.Sprintf("routes[%d].%s", route, name), err}
}
