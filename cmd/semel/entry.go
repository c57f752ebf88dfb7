package main

import (
	"encoding/json"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// inDoubt is the state that no store keeps: it is derived from the time.
const inDoubt = "in-doubt"

// entry is a record as JSON. Its shape is a promise: fields are added, never
// changed. Times are the store's, now is the one at which it answered.
type entry struct {
	Scope       string        `json:"scope"`
	ID          string        `json:"id"`
	ClaimID     string        `json:"claim_id"`
	State       string        `json:"state"` // free, held, done, dead or in-doubt
	Over        bool          `json:"over"`  // the lease has lapsed, or the window or memory has ended
	Attempts    int           `json:"attempts"`
	Generation  int           `json:"generation"`
	Token       semel.Token   `json:"token"`
	Created     time.Time     `json:"created"`
	Until       time.Time     `json:"until"`
	NotBefore   *time.Time    `json:"not_before,omitempty"`
	ResultUntil *time.Time    `json:"result_until,omitempty"`
	Now         time.Time     `json:"now"`
	AgeMS       int64         `json:"age_ms"`
	EndsInMS    int64         `json:"ends_in_ms"` // negative: so long ago
	Doubted     bool          `json:"doubted"`
	Recovered   bool          `json:"recovered"`
	Fingerprint bool          `json:"fingerprint"`
	Marked      bool          `json:"marked"`
	Request     *httpkey.Note `json:"request,omitempty"` // what the note says, if it is an HTTP request's
	Note        []byte        `json:"note,omitempty"`    // else the note itself
	Kept        semel.Kept    `json:"kept,omitempty"`
	Size        int64         `json:"size"`
	Source      semel.Source  `json:"source,omitempty"`
	By          string        `json:"by,omitempty"`
	Why         string        `json:"why,omitempty"`
}

func newEntry(r *semel.Record) *entry {
	e := &entry{
		Scope: r.Key.Scope, ID: r.Key.ID, ClaimID: r.Key.ClaimID(),
		State: stateOf(r), Over: !r.Now.Before(r.Until),
		Attempts: r.Attempts, Generation: r.Generation, Token: r.Token,
		Created: r.Created, Until: r.Until, Now: r.Now,
		NotBefore: known(r.NotBefore), ResultUntil: known(r.ResultUntil),
		AgeMS: r.Now.Sub(r.Created).Milliseconds(), EndsInMS: r.Until.Sub(r.Now).Milliseconds(),
		Doubted: r.Doubted, Recovered: r.Recovered,
		Fingerprint: r.Fingerprint != nil, Marked: r.Note != nil,
		Kept: r.Kept, Size: r.Size, Source: r.Source, By: r.By, Why: r.Why,
	}
	if e.Request = requestOf(r); e.Request == nil {
		e.Note = r.Note
	}
	return e
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func stateOf(r *semel.Record) string {
	if r.InDoubt() {
		return inDoubt
	}
	return r.State.String()
}

// requestOf is the HTTP request that r's note tells of, or nil.
func requestOf(r *semel.Record) *httpkey.Note {
	var note httpkey.Note
	if json.Unmarshal(r.Note, &note) != nil || note.Method == "" {
		return nil
	}
	return &note
}

// noteText is r's note for people.
func noteText(r *semel.Record) string {
	note := requestOf(r)
	if note == nil {
		return text(string(r.Note))
	}
	s := note.Method + " " + note.Path
	if note.Query != "" {
		s += "?" + note.Query
	}
	if note.Route != "" {
		s += " (route " + note.Route + ")"
	}
	return text(s)
}
