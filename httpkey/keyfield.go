package httpkey

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/sfv"
)

// Why a request has no usable key. The texts go to the client and never repeat
// what it sent.
var (
	errKeyAbsent    = errors.New("This operation needs an Idempotency-Key field.")                               //nolint:staticcheck // a sentence for clients
	errKeyMalformed = errors.New("The key has to be a quoted string, or visible ASCII without blanks or commas") //nolint:staticcheck // a sentence for clients
	errKeyMultiple  = errors.New("There has to be one Idempotency-Key field with one key.")                      //nolint:staticcheck // a sentence for clients
	errKeyTooLong   = fmt.Errorf("A key may have %d bytes.", semel.MaxKeyBytes)                                  //nolint:staticcheck // a sentence for clients
)

// slugOf names the problem of a key.
func slugOf(err error) string {
	switch {
	case errors.Is(err, errKeyAbsent):
		return "key-required"
	case errors.Is(err, errKeyMultiple):
		return "key-multiple"
	case errors.Is(err, errKeyTooLong):
		return "key-too-long"
	}
	return "key-malformed"
}

// keyPolicy is what a route demands of keys.
type keyPolicy struct {
	strict   bool
	minBytes int
	pattern  *regexp.Regexp
}

func (o *Options) keyPolicy() keyPolicy { return keyPolicy{o.Strict, o.MinKeyBytes, o.KeyPattern} }

// readKey returns the key that h carries under one of the names. Several fields
// of one name are refused even if they agree: who takes the first and who the
// last would not. One name and its alias may agree.
func readKey(h http.Header, names []string, p keyPolicy) (string, error) {
	key, found := "", false
	for _, name := range names {
		lines := h.Values(name)
		if len(lines) == 0 {
			continue
		}
		if len(lines) > 1 {
			return "", errKeyMultiple
		}
		k, err := p.parse(lines[0])
		if err != nil {
			return "", err
		}
		if found && k != key {
			return "", errKeyMultiple
		}
		key, found = k, true
	}
	if !found {
		return "", errKeyAbsent
	}
	return key, nil
}

// parse reads one field: a Structured-Field String as the draft has it, or bare
// text as most clients send it. "abc" and abc are one key.
func (p keyPolicy) parse(field string) (string, error) {
	field = strings.Trim(field, " \t")
	key, err := sfv.String(field)
	switch {
	case err == nil:
	case isList(field):
		return "", errKeyMultiple
	case p.strict || strings.HasPrefix(field, `"`) || !isBare(field):
		return "", errKeyMalformed
	default:
		key = field
	}
	switch {
	case len(key) > semel.MaxKeyBytes:
		return "", errKeyTooLong
	case strings.Trim(key, " ") == "":
		return "", fmt.Errorf("%w: it is empty.", errKeyMalformed) //nolint:staticcheck // a sentence for clients
	case len(key) < p.minBytes:
		return "", fmt.Errorf("%w: it is shorter than %d bytes.", errKeyMalformed, p.minBytes) //nolint:staticcheck // a sentence for clients
	case p.pattern != nil && p.pattern.FindString(key) != key:
		return "", fmt.Errorf("%w: it does not have this API's form.", errKeyMalformed) //nolint:staticcheck // a sentence for clients
	}
	return key, nil
}

// isBare reports whether the text consists of visible ASCII, and is neither a
// list nor something with parameters.
func isBare(text string) bool {
	for i := range len(text) {
		if b := text[i]; b <= ' ' || b > '~' || b == ',' || b == ';' || b == '"' {
			return false
		}
	}
	return text != ""
}

// isList reports whether the text has a comma outside quotes.
func isList(text string) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted && text[i] == '\\':
			i++
		case !quoted && text[i] == ',':
			return true
		}
	}
	return false
}
