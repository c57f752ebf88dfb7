package httpkey

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/internal/sfv"
)

// Why a request has no usable key. The errors of readKey wrap one of them and
// may add what was wrong; they never repeat the value, which is the client's
// secret as much as ours.
var (
	errKeyAbsent    = errors.New("no idempotency key")
	errKeyMalformed = errors.New("malformed idempotency key")
	errKeyMultiple  = errors.New("more than one idempotency key")
	errKeyTooLong   = errors.New("idempotency key too long")
)

// maxKeyBytes bounds a decoded key. It is the limit that most clients already
// keep to; the index holds a digest and would not mind more.
const maxKeyBytes = 255

// keyPolicy says which keys a route takes. Zero takes every key of 1 to
// maxKeyBytes bytes, quoted or bare.
type keyPolicy struct {
	strict  bool           // refuse bare values: only a structured-field string will do
	min     int            // least number of bytes, against guessable keys
	pattern *regexp.Regexp // the whole key must match, see keyPattern; nil: any
}

// keyPattern compiles expr so that it has to match the whole of a key: a
// pattern that is met by a part of the key would let through what surrounds it.
func keyPattern(expr string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expr); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// readKey returns the key that h carries in the fields called names: the name
// proper and its aliases, in any letter case, and no other name. The key is
// compared byte by byte, so its own case matters.
//
// A quoted value is a structured-field string, as the Idempotency-Key draft
// has it: escapes decoded, parameters ignored. A bare value of visible ASCII
// is taken as it stands, so "abc" and abc are one key. Two field lines of one
// name are refused even if they agree, and so is a list, because proxies
// differ in which member they pass on. A name and its alias may both be given
// if they agree: that is one client being polite to two servers.
func readKey(h http.Header, names []string, p keyPolicy) (string, error) {
	key, found := "", false
	for _, name := range names {
		lines := h.Values(name)
		if len(lines) == 0 {
			continue
		}
		if len(lines) > 1 {
			return "", fmt.Errorf("%w: several field lines", errKeyMultiple)
		}
		k, err := p.read(lines[0])
		if err != nil {
			return "", err
		}
		if found && k != key {
			return "", fmt.Errorf("%w: a field and its alias differ", errKeyMultiple)
		}
		key, found = k, true
	}
	if !found {
		return "", errKeyAbsent
	}
	return key, nil
}

// read decodes one field line and holds the key against the policy.
func (p keyPolicy) read(line string) (string, error) {
	key, err := p.decode(strings.Trim(line, " \t"))
	if err != nil {
		return "", err
	}
	if err := p.check(key); err != nil {
		return "", err
	}
	return key, nil
}

// decode returns the key that a field value without outer blanks stands for.
func (p keyPolicy) decode(value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		if p.strict && !strings.Contains(value, ",") {
			return "", fmt.Errorf("%w: not a quoted string", errKeyMalformed)
		}
		return bareKey(value)
	}
	key, err := sfv.ParseString(value)
	switch {
	case errors.Is(err, sfv.ErrList):
		return "", fmt.Errorf("%w: a list", errKeyMultiple)
	case err != nil:
		return "", fmt.Errorf("%w: %w", errKeyMalformed, err)
	}
	return key, nil
}

// bareKey admits a value of visible ASCII. A comma is where a proxy joined
// two field lines, and a quote is a quoted string gone wrong: taken literally,
// either would be a key that the client did not mean.
func bareKey(value string) (string, error) {
	if strings.Contains(value, ",") {
		return "", fmt.Errorf("%w: a list", errKeyMultiple)
	}
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c > '~' || c == '"' {
			return "", fmt.Errorf("%w: a bare key is visible ASCII without quotes", errKeyMalformed)
		}
	}
	return value, nil
}

// check holds a decoded key against the limits.
func (p keyPolicy) check(key string) error {
	switch {
	case strings.Trim(key, " ") == "":
		return fmt.Errorf("%w: empty", errKeyMalformed)
	case len(key) > maxKeyBytes:
		return fmt.Errorf("%w: more than %d bytes", errKeyTooLong, maxKeyBytes)
	case len(key) < p.min:
		return fmt.Errorf("%w: fewer than %d bytes", errKeyMalformed, p.min)
	case p.pattern != nil && !p.pattern.MatchString(key):
		return fmt.Errorf("%w: not of the form this route asks for", errKeyMalformed)
	}
	return nil
}
