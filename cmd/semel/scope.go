package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/semel-dev/semel/httpkey"
)

// scopeHelp explains the rules by which a request's principal is found. There
// is no default: keys that callers share unawares give away answers.
const scopeHelp = `whose keys does a request use? Choose a rule:
  credential   the caller's own credential (Authorization, cookies of scope_cookies), as an HMAC
  header:NAME  the principal that a proxy in front has put into a field and keeps clients from setting
  jwt:CLAIM    a claim of the caller's verified token, such as jwt:sub; needs jwt.key_file or jwt.jwks_file
  cert         the caller's verified client certificate; needs tls.client_ca_file
  public       nobody's: all callers share one key space, and whoever knows a key gets its answer`

// The prefixes of scopes that are made here. A principal that a header names
// cannot begin with one, or it could be mistaken for another rule's.
const (
	credentialPrefix = "credential:" //nolint:gosec // a name, no credential
	certPrefix       = "cert:"
	jwtPrefix        = "jwt:"
	publicScope      = "public:"
)

var madePrefixes = []string{credentialPrefix, certPrefix, jwtPrefix, publicScope}

// scopeMaker turns scope rules into functions.
type scopeMaker struct {
	secret   []byte
	tokens   *tokenVerifier // nil: no key is configured
	clientCA bool
}

// make returns the function of a rule.
func (m *scopeMaker) make(rule string, cookies []string) (httpkey.Scope, error) {
	kind, argument, _ := strings.Cut(rule, ":")
	switch {
	case rule == "":
		return nil, errors.New(scopeHelp)
	case rule == "credential":
		return credentialScope(m.secret, cookies), nil
	case rule == "public":
		return func(*http.Request) (string, error) { return publicScope, nil }, nil
	case rule == "cert" && !m.clientCA:
		return nil, errors.New("the scope rule cert needs tls.client_ca_file")
	case rule == "cert":
		return certScope, nil
	case kind == "header" && validFieldName(argument):
		return headerScope(textproto.CanonicalMIMEHeaderKey(argument)), nil
	case kind == "jwt" && argument != "" && m.tokens == nil:
		return nil, errors.New("the scope rule jwt needs jwt.key_file or jwt.jwks_file")
	case kind == "jwt" && argument != "":
		return m.tokens.scope(argument), nil
	}
	return nil, fmt.Errorf("%q is no scope rule: %s", rule, scopeHelp)
}

// validFieldName reports whether name is a token of RFC 9110.
func validFieldName(name string) bool {
	for _, c := range []byte(name) {
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// headerScope trusts a field that a proxy in front sets. Two values mean that
// somebody else set one as well.
func headerScope(name string) httpkey.Scope {
	return func(r *http.Request) (string, error) {
		values := r.Header.Values(name)
		if len(values) != 1 {
			return "", nil
		}
		principal := strings.TrimSpace(values[0])
		for _, prefix := range madePrefixes {
			if strings.HasPrefix(principal, prefix) {
				return "", nil
			}
		}
		return principal, nil
	}
}
