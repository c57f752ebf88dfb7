package httpkey

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Problem is the body of each refusal, as application/problem+json (RFC 9457).
// The members beyond the standard's say what a client may do next.
type Problem struct {
	Type         string     `json:"type"`
	Title        string     `json:"title"`
	Status       int        `json:"status"`
	Detail       string     `json:"detail,omitempty"`
	Code         string     `json:"code"`                     // the slug, the last part of Type
	Retryable    bool       `json:"retryable"`                // the same request with the same key may get another answer
	SafeNewKey   bool       `json:"safe_new_key"`             // the request may be sent under a new key: nothing of it took effect
	Outcome      string     `json:"outcome"`                  // none, applied or unknown: what this request's effect is known to be
	Mismatch     string     `json:"mismatch,omitempty"`       // key-reused: the part that differs
	Operation    string     `json:"operation,omitempty"`      // opaque reference for the operator
	FirstSeen    *time.Time `json:"first_seen,omitempty"`     // of the key
	CompletedAt  *time.Time `json:"completed_at,omitempty"`   // of the work
	FirstStatus  int        `json:"first_status,omitempty"`   // of the kept answer
	RetryAfterMS int64      `json:"retry_after_ms,omitempty"` // like Retry-After, but finer
}

// ProblemBase is where the documentation of the problems is found by default;
// a slug and ".md" are appended.
const ProblemBase = "https://github.com/semel-dev/semel/blob/main/docs/reference/problems/"

// The outcomes that a problem names.
const (
	outcomeNone    = "none"
	outcomeApplied = "applied"
	outcomeUnknown = "unknown"
)

// kind is what all problems with one slug have in common.
type kind struct {
	status     int
	title      string
	retryable  bool
	safeNewKey bool
	outcome    string
}

// problems by slug: a promise, held by a golden file. A new key is safe only
// where no earlier attempt under the old one can have run: an attempt that the
// store or the credentials refuse may be the retry of one that did.
var problems = map[string]kind{
	"scope-unresolved":     {401, "The caller could not be identified", false, false, outcomeNone},
	"key-required":         {400, "This operation needs an idempotency key", false, true, outcomeNone},
	"key-malformed":        {400, "The idempotency key is malformed", false, true, outcomeNone},
	"key-multiple":         {400, "There is more than one idempotency key", false, true, outcomeNone},
	"key-too-long":         {400, "The idempotency key is too long", false, true, outcomeNone},
	"key-reused":           {422, "The idempotency key was used for another request", false, true, outcomeNone},
	"request-too-large":    {413, "The request is too large to be guarded", false, true, outcomeNone},
	"quota-exceeded":       {429, "Too many new idempotency keys", true, false, outcomeNone},
	"in-progress":          {409, "The first request with this key is still running", true, false, outcomeUnknown},
	"outcome-unknown":      {409, "The outcome of the first request is unknown", true, false, outcomeUnknown},
	"result-unavailable":   {409, "The request was carried out, its answer is not available", false, false, outcomeApplied},
	"result-expired":       {410, "The request was carried out, its answer is no longer kept", false, false, outcomeApplied},
	"store-unavailable":    {503, "The store of idempotency keys does not answer", true, false, outcomeNone},
	"upstream-unreachable": {502, "The upstream could not be reached", true, true, outcomeNone},
}

// NewProblem returns the problem with the given slug, one of those documented
// under docs/reference/problems. It panics if there is no such slug. An empty
// base means [ProblemBase].
func NewProblem(base, slug, detail string) *Problem {
	k, ok := problems[slug]
	if !ok {
		panic("httpkey: no problem is called " + slug)
	}
	typ := base + slug
	if base == "" {
		typ = ProblemBase + slug + ".md"
	}
	return &Problem{
		Type: typ, Title: k.title, Status: k.status, Detail: detail, Code: slug,
		Retryable: k.retryable, SafeNewKey: k.safeNewKey, Outcome: k.outcome,
	}
}

// After sets when a retry is worth while; it is rounded up to whole seconds in
// the Retry-After field, at least one.
func (p *Problem) After(d time.Duration) *Problem {
	p.RetryAfterMS = max(1, d.Milliseconds())
	return p
}

// Write answers with p.
func (p *Problem) Write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // strings, numbers and times only
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Link", "<"+p.Type+`>; rel="describedby"`)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if p.RetryAfterMS > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(float64(p.RetryAfterMS)/1000))))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}
