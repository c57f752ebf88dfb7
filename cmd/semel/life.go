package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// lifeText tells a key's life to people.
func lifeText(rec *semel.Record, deadline time.Duration) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", label, fmt.Sprintf(format, args...))
	}
	line("scope", "%s", visible(rec.Key.Scope))
	line("id", "%s", visible(rec.Key.ID))
	state, meaning := stateWords(rec)
	line("state", "%s", state)
	line("", "%s", meaning)
	if rec.By != "" {
		line(byLabel(rec), "%s", holder(rec.By))
	}
	if rec.Why != "" {
		line("why", "%s", text(rec.Why))
	}
	if rec.Note != nil {
		line("note", "%s", noteText(rec))
	}
	if rec.State == semel.Done || rec.State == semel.Dead {
		line("answer", "%s", answerText(rec))
	}
	line("claimed", "first %s ago; %s", span(rec.Now.Sub(rec.Created)), attemptsText(rec))
	if rec.Source != "" {
		line("source", "%s", visible(string(rec.Source)))
	}
	line("fingerprint", "%s", map[bool]string{true: "yes", false: "no"}[rec.Fingerprint != nil])
	line("token", "%d", rec.Token)
	line("claim id", "%s", rec.Key.ClaimID())
	for i, next := range nextSteps(rec, deadline) {
		line(map[bool]string{true: "next"}[i == 0], "%s", next)
	}
	return b.String()
}

func attemptsText(rec *semel.Record) string {
	s := plural(rec.Attempts, "attempt")
	if rec.Generation > 0 {
		s += "; forgotten on purpose " + plural(rec.Generation, "time")
	}
	return s
}

// stateWords says what rec is, and what that means.
func stateWords(rec *semel.Record) (state, meaning string) {
	ends := rec.Until.Sub(rec.Now)
	switch {
	case rec.InDoubt() && rec.Doubted:
		return "in doubt for " + span(ends), "The holder does not know whether the work took effect."
	case rec.InDoubt():
		return "in doubt for " + span(ends), "The lease ended without an outcome: the work may have taken effect."
	case rec.Lapsed():
		return "held, but the lease ended " + from(ends), "It announced no effect: the next attempt takes the key over."
	case rec.State == semel.Held && rec.Recovered:
		return "held, for " + left(ends) + " more", "It was in doubt, and somebody is settling it."
	case rec.State == semel.Held:
		return "held, for " + left(ends) + " more", "An attempt is at work. A lease that is not renewed ends then."
	case rec.Expired():
		return rec.State.String() + ", but over for " + span(ends), "The next attempt is the first again."
	case rec.State == semel.Done:
		return "done, remembered for " + left(ends) + " more", "The work took effect. Repeating it is suppressed."
	case rec.State == semel.Dead:
		return "dead, remembered for " + left(ends) + " more", "The work was given up for good. Repeating it is refused."
	case rec.Now.Before(rec.NotBefore):
		return "free, backing off for " + left(rec.NotBefore.Sub(rec.Now)) + " more", "The last attempt failed; the next may begin then."
	}
	return "free", "Nobody holds it: the next attempt does the work."
}

func byLabel(rec *semel.Record) string {
	switch {
	case rec.InDoubt(), rec.Lapsed():
		return "last holder"
	case rec.State == semel.Held:
		return "holder"
	}
	return "by"
}

var hostPID = regexp.MustCompile(`^([^:@\s]+):(\d+)$`)

// holder spells the Keeper's default name out.
func holder(by string) string {
	if m := hostPID.FindStringSubmatch(by); m != nil && visible(by) == by {
		return fmt.Sprintf("host %s, process %s", m[1], m[2])
	}
	return text(by)
}

// answerText says what repeats of the work are answered with.
func answerText(rec *semel.Record) string {
	ans := answerOf(rec)
	status := ""
	if ans != nil {
		status = fmt.Sprintf("%d, ", ans.Status)
	}
	switch {
	case rec.Kept != "":
		return status + errNoAnswer(rec).Error()
	case rec.Result == nil:
		return "none"
	case ans == nil:
		status = "a result of "
	}
	s := status + inBytes(bodySize(rec, ans))
	if ans != nil {
		if typ := ans.Header.Get("Content-Type"); typ != "" {
			s += ", " + text(typ)
		}
	}
	if !rec.ResultUntil.IsZero() {
		s += ", kept for " + left(rec.ResultUntil.Sub(rec.Now)) + " more"
	}
	return s
}

func bodySize(rec *semel.Record, ans *answer) int64 {
	if ans != nil {
		return int64(ans.Bytes)
	}
	return int64(len(rec.Result))
}

// errNoAnswer says why there is none.
func errNoAnswer(rec *semel.Record) error {
	switch rec.Kept {
	case semel.KeptTooLarge:
		return fmt.Errorf("not kept: too large (%s)", inBytes(rec.Size))
	case semel.KeptStreamed:
		return fmt.Errorf("not kept: it was passed on live (%s)", inBytes(rec.Size))
	case semel.KeptTruncated:
		return fmt.Errorf("not kept: it broke off on its way (%s)", inBytes(rec.Size))
	case semel.KeptExpired:
		return fmt.Errorf("no longer kept: its time is over (%s)", inBytes(rec.Size))
	}
	return fmt.Errorf("there is none")
}

func inBytes(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// nextSteps says what an operator can do about rec.
func nextSteps(rec *semel.Record, deadline time.Duration) []string {
	key := shellWord(rec.Key.ID) + " --scope " + shellWord(rec.Key.Scope)
	if strings.HasPrefix(rec.Key.ID, "-") {
		key = "--scope " + shellWord(rec.Key.Scope) + " -- " + shellWord(rec.Key.ID)
	}
	switch {
	case rec.InDoubt():
		done := "semel settle --done " + key
		if requestOf(rec) != nil {
			done = "semel settle --done --status STATUS --body FILE " + key
		}
		steps := []string{"Find out whether it happened. If it did:", "  " + done, "If it did not:", "  semel settle --not-done " + key}
		if wait := unproven(rec, deadline); wait > 0 {
			steps[2] = "If it did not, " + from(wait) + " (it could still happen until then):"
		}
		return steps
	case rec.Lapsed():
		return []string{"Nothing to do. Repeat the work when you like."}
	case rec.State == semel.Held:
		return []string{"Wait: repeating the work now is answered \"busy\"."}
	case rec.State == semel.Free, rec.Expired():
		return nil
	}
	return []string{"To do the work again on purpose:", "  semel forget " + key}
}

// unproven is how long the effect could still happen, if it was sent at all.
func unproven(rec *semel.Record, deadline time.Duration) time.Duration {
	return rec.Until.Add(deadline).Sub(rec.Now)
}
