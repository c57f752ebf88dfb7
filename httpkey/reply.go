package httpkey

import (
	"math/rand/v2"
	"time"

	"github.com/semel-dev/semel"
)

// reply is a problem on its way to one client.
type reply struct {
	*Problem
	x *exchange
}

func (x *exchange) problem(slug, detail string) *reply {
	p := NewProblem(x.opts.ProblemBase, slug, detail)
	return &reply{p, x}
}

// After sets when a retry is worth while.
func (p *reply) After(d time.Duration) *reply {
	p.Problem.After(d)
	return p
}

// refuse answers with the problem, or in shadow only reports it.
func (p *reply) refuse(result Result) {
	if p.x.opts.Shadow {
		p.x.next.ServeHTTP(p.x.w, p.x.r)
		p.x.report(result, p.Code)
		return
	}
	p.Write(p.x.w)
	p.x.report(result, p.Code)
}

// about adds what may be told about a key to those who share its scope.
func (x *exchange) about(p *reply, rec *semel.Record) *reply {
	if rec.Token == 0 {
		return p
	}
	p.Operation = x.key.ClaimID()
	first := rec.Created
	p.FirstSeen = &first
	if rec.State == semel.Done {
		completed := x.completed(rec)
		p.CompletedAt = &completed
		if a, err := decode(rec.Result); err == nil {
			p.FirstStatus = a.Status
		}
	}
	return p
}

// completed is when the work of a done record was completed: its window is
// counted from then.
func (x *exchange) completed(rec *semel.Record) time.Time { return rec.Until.Add(-x.opts.Window) }

// retryAfter estimates when a request that began elapsed ago will be answered.
func (x *exchange) retryAfter(elapsed time.Duration) time.Duration {
	return max(time.Second, x.latency.p95()-elapsed)
}

func (x *exchange) report(result Result, slug string) {
	if x.opts.Observe != nil {
		x.opts.Observe(Event{
			Route: x.opts.Route, Result: result, Slug: slug, Took: time.Since(x.start), Key: x.key, NoKey: x.noKey,
		})
	}
}

// jitter spreads those who were refused together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
