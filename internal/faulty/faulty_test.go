package faulty_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/faulty"
	"github.com/semel-dev/semel/internal/history"
	"github.com/semel-dev/semel/internal/rulestore"
)

func request() semel.Request {
	return semel.Request{
		Key: semel.Key{Scope: "s", ID: "k"}, Attempt: semel.NewAttemptID(), Lease: time.Minute, Keep: time.Minute,
	}
}

func TestLostCallIsNotCarriedOut(t *testing.T) {
	inner := rulestore.New()
	req := request()
	a, err := faulty.New(inner, faulty.Plan{Before: 100}).Claim(t.Context(), req)
	if !errors.Is(err, faulty.ErrBefore) || a.Won {
		t.Errorf("claim: won %v, error %v, want ErrBefore", a.Won, err)
	}
	if _, err := inner.Get(t.Context(), req.Key); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("the store behind: error %v, want ErrNotFound", err)
	}
}

func TestLostAnswerIsCarriedOut(t *testing.T) {
	inner := rulestore.New()
	s := faulty.New(inner, faulty.Plan{After: 100})
	req := request()
	if a, err := s.Claim(t.Context(), req); !errors.Is(err, faulty.ErrAfter) || a.Won || a.Record.Token != 0 {
		t.Errorf("claim: answer %+v, error %v, want nothing and ErrAfter", a, err)
	}
	rec, err := inner.Get(t.Context(), req.Key)
	if err != nil || rec.State != semel.Held {
		t.Fatalf("the store behind has %v, error %v, want it held", rec.State, err)
	}
	got, err := s.Update(t.Context(), req.Key, rec.Token, semel.Change{From: semel.Held, To: semel.Done, For: time.Hour})
	if !errors.Is(err, faulty.ErrAfter) || got.Token != 0 {
		t.Errorf("update: record %+v, error %v, want nothing and ErrAfter", got, err)
	}
	if rec, _ := inner.Get(t.Context(), req.Key); rec.State != semel.Done {
		t.Errorf("the store behind has %v, want it done", rec.State)
	}
}

func TestCopyArrivesLater(t *testing.T) {
	inner := rulestore.New()
	var copies []semel.Request
	s := faulty.New(inner, faulty.Plan{Copy: 100, OnCopy: func(req semel.Request) { copies = append(copies, req) }})
	req := request()
	first, err := inner.Claim(t.Context(), req) // out of the copies' reach
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	inner.Advance(time.Second)
	rec, err := s.Get(t.Context(), req.Key)
	if err != nil || len(copies) != 1 || copies[0].Attempt != req.Attempt {
		t.Fatalf("copies %v, error %v, want one of the claim", copies, err)
	}
	if !rec.Until.After(first.Record.Until) {
		t.Errorf("the copy did not extend the lease from %v: %v", first.Record.Until, rec.Until)
	}
}

func TestDelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faulty.New(rulestore.New(), faulty.Plan{Delay: 100, MaxDelay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Claim(ctx, request()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		start := time.Now()
		if _, err := s.Claim(t.Context(), request()); err != nil || time.Since(start) == 0 {
			t.Errorf("claim after %v: error %v, want it to be late", time.Since(start), err)
		}
	})
}

// TestSameSeedSameFaults: what is drawn depends on nothing but the seed.
func TestSameSeedSameFaults(t *testing.T) {
	draw := func(seed uint64) (text string) {
		s := faulty.New(rulestore.New(), faulty.Plan{Seed: seed, Before: 30, After: 30, Copy: 30})
		for range 50 {
			if _, err := s.Claim(t.Context(), request()); err != nil {
				text += err.Error()
			}
			text += ";"
		}
		return text
	}
	if first, again := draw(1), draw(1); first != again || first == draw(2) {
		t.Error("the faults do not follow from the seed")
	}
}

// TestLoadThroughFaults runs workers over a faulty connection: what they hear,
// and what they do not hear, must be explained by the rules.
func TestLoadThroughFaults(t *testing.T) {
	for seed := range uint64(6) {
		var r history.Recorder
		inner := rulestore.New()
		plan := faulty.Plan{Seed: seed, Before: 5, After: 10, Delay: 5, Copy: 10, OnCopy: r.Copy}
		load := history.Load{Seed: seed, Workers: 6, Keys: 4, Steps: 50, Advance: inner.Advance}
		load.Run(t.Context(), history.Store{Store: faulty.New(inner, plan), To: &r})
		r.Verify(t)
	}
}
