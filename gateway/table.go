package gateway

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/semel-dev/semel"
)

// table finds the route of a request by http.ServeMux's patterns, but hands the
// request on as it came: whether "//" or a missing slash means something is the
// upstream's business, and no reason for a redirect.
type table struct {
	mux    *http.ServeMux
	routes map[string]http.Handler // by pattern
	rest   http.Handler
}

// add registers a route. A bad or ambiguous pattern is a mistake of the
// configuration's, for which the mux panics.
func (t *table) add(pattern string, h http.Handler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", semel.ErrInvalid, r)
		}
	}()
	t.mux.Handle(pattern, h)
	t.routes[pattern] = h
	return nil
}

// ServeHTTP implements http.Handler.
func (t *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	look := r.Clone(r.Context())
	look.URL.Path, look.URL.RawPath = clean(r.URL.Path), ""
	_, pattern := t.mux.Handler(look)
	h, ok := t.routes[pattern]
	if !ok {
		h = t.rest
	}
	h.ServeHTTP(w, r)
}

// clean is the form of a path that a mux does not redirect.
func clean(p string) string {
	c := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}
