package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/semel-dev/semel"
)

// visible is s for people: as it is if every character can be seen and copied,
// else quoted as Go does, so that a key can neither command the terminal nor
// pass for another one.
func visible(s string) string {
	if s == "" {
		return "-"
	}
	if s == "-" || strings.HasPrefix(s, `"`) || strings.ContainsFunc(s, hidden) || strings.Contains(s, " ") {
		return strconv.Quote(s)
	}
	return s
}

// text is prose for people: blanks stay, what cannot be seen does not.
func text(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	return strconv.Quote(s)
}

func hidden(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// name is a key for people, scope first.
func name(k semel.Key) string { return visible(k.Scope) + "/" + visible(k.ID) }

func errUnknown(k semel.Key) error {
	return fmt.Errorf("the store knows nothing of the key %s in scope %s", visible(k.ID), visible(k.Scope))
}

// shellWord is s as one word of a POSIX shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:=@%+,", r)
	}
	switch {
	case s != "" && strings.TrimFunc(s, plain) == "":
		return s
	case strings.ContainsFunc(s, hidden):
		return "$" + "'" + strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(s), `"`), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// span is a duration for people, in its largest unit: the rest of it is noise.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Abs(); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// left is a duration that is still to come: rounded up, for whoever waits that
// long shall not come too early.
func left(d time.Duration) string {
	for _, unit := range []time.Duration{48 * time.Hour, time.Hour, time.Minute, time.Second} {
		if d > unit {
			step := min(unit, 24*time.Hour)
			return span((d + step - 1).Truncate(step))
		}
	}
	return span(d)
}

// from says where an instant lies, d from now: "in 5m", "5m ago".
func from(d time.Duration) string {
	if d > 0 {
		return "in " + left(d)
	}
	return span(d) + " ago"
}

// escapeJSON escapes what cannot be seen in a JSON text, which encoding/json
// does below U+0020 only: the text may end on a terminal. Nothing of the kind
// stands outside of a string.
func escapeJSON(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for _, r := range string(in) {
		if r < 0x7f || unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
