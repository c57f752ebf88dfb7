package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// Probe asks the upstream by a GET whether the effect of a key in doubt
// happened.
type Probe struct {
	// Path and query of the GET. {key} and {scope} stand for the halves of the
	// key, {path} for the path of the request in doubt, each escaped. Required.
	// Nothing is asked where a key or path would make a segment "." or "..".
	Path string
	// Happened are the statuses that mean it happened; the answer is then kept for
	// those who repeat the request. Default 200.
	Happened []int
	// DidNotHappen are the statuses that mean it did not. Default 404. Any other
	// status decides nothing.
	DidNotHappen []int
	// Timeout bounds the GET. Default 5 s.
	Timeout time.Duration
	// Header is added to the GET, for credentials.
	Header http.Header
}

// maxProbe bounds the answer of a probe that is kept.
const maxProbe = 1<<20 - 16<<10

// prepare checks p and returns the function that asks.
func (p *Probe) prepare(upstream *url.URL, transport http.RoundTripper) (semel.RecoverFunc, error) {
	q := *p
	if q.Happened == nil {
		q.Happened = []int{http.StatusOK}
	}
	if q.DidNotHappen == nil {
		q.DidNotHappen = []int{http.StatusNotFound}
	}
	if q.Timeout == 0 {
		q.Timeout = 5 * time.Second
	}
	if !strings.HasPrefix(q.Path, "/") {
		return nil, fmt.Errorf("%w: the probe's path %q does not begin with /", semel.ErrInvalid, q.Path)
	}
	if !strings.Contains(q.Path, "{key}") {
		return nil, fmt.Errorf("%w: the probe's path %q asks for every key alike: it needs {key}", semel.ErrInvalid, q.Path)
	}
	for _, status := range q.Happened {
		if slices.Contains(q.DidNotHappen, status) {
			return nil, fmt.Errorf("%w: the probe's status %d cannot mean both", semel.ErrInvalid, status)
		}
	}
	client := &http.Client{
		Transport:     transport,
		Timeout:       q.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, rec semel.Record) (semel.Finding, []byte, error) {
		return q.ask(ctx, client, upstream, &rec)
	}, nil
}

func (p *Probe) ask(ctx context.Context, client *http.Client, upstream *url.URL, rec *semel.Record) (semel.Finding, []byte, error) {
	target, err := p.url(upstream, rec)
	if err != nil {
		return semel.Unknown, nil, err
	}
	if climbs(target) {
		return semel.Unknown, nil, errors.New("gateway: no probe is sent to a path with a segment of dots")
	}
	// The answer outlives the request that happened to ask.
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, target, http.NoBody)
	if err != nil {
		return semel.Unknown, nil, err
	}
	for name, values := range p.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	if err != nil {
		return semel.Unknown, nil, err
	}
	defer resp.Body.Close()
	switch {
	case slices.Contains(p.DidNotHappen, resp.StatusCode):
		return semel.DidNotHappen, nil, nil
	case !slices.Contains(p.Happened, resp.StatusCode):
		return semel.Unknown, nil, fmt.Errorf("gateway: the probe answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbe+1))
	if err != nil || len(body) > maxProbe {
		// It happened; what to answer is lost.
		return semel.Happened, nil, nil
	}
	result, err := httpkey.EncodeAnswer(resp.StatusCode, resp.Header, body)
	return semel.Happened, result, err
}

// url is where to ask about rec. Without the path that its template needs, the
// probe would ask about something else, and believe that.
func (p *Probe) url(upstream *url.URL, rec *semel.Record) (string, error) {
	var note httpkey.Note
	if strings.Contains(p.Path, "{path}") {
		if err := json.Unmarshal(rec.Note, &note); err != nil || note.Path == "" {
			return "", errors.New("gateway: the note does not say which path to probe")
		}
	}
	path := strings.NewReplacer(
		"{key}", escape(rec.Key.ID),
		"{scope}", escape(rec.Key.Scope),
		"{path}", note.Path,
	).Replace(p.Path)
	return upstream.Scheme + "://" + upstream.Host + strings.TrimSuffix(upstream.EscapedPath(), "/") + path, nil
}

// escape makes text safe in a path and in a query: a key must not be able to
// ask about something else.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// climbs reports whether a URL's path has a segment that stands for another
// place. Dots need no escape, so that a key of dots is one, and its probe would
// ask about the folder of all keys, with the probe's own credentials.
func climbs(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			return true
		}
	}
	return false
}
