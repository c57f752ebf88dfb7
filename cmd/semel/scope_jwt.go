package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// Algorithms by kind of key. There is no "none".
var (
	publicAlgorithms = []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
	secretAlgorithms  = []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512}
	defaultAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
)

// tokenVerifier finds out who a bearer token is about.
type tokenVerifier struct {
	jwt        JWT
	algorithms []jose.SignatureAlgorithm

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	checked time.Time // when the file was last looked at
	changed time.Time // its modification time then
}

// newTokenVerifier returns nil if no key is configured.
func newTokenVerifier(c JWT) (*tokenVerifier, error) {
	v := &tokenVerifier{jwt: c}
	for _, name := range c.Algorithms {
		alg := jose.SignatureAlgorithm(name)
		if !slices.Contains(publicAlgorithms, alg) && !slices.Contains(secretAlgorithms, alg) {
			return nil, &fault{"jwt.algorithms", fmt.Errorf("the algorithm %q is not accepted", name)}
		}
		v.algorithms = append(v.algorithms, alg)
	}
	if v.algorithms == nil {
		v.algorithms = defaultAlgorithms
	}
	switch {
	case c.KeyFile == "" && c.JWKSFile == "":
		return nil, nil
	case c.KeyFile != "" && c.JWKSFile != "":
		return nil, &fault{"jwt.jwks_file", errors.New("there is a key_file as well: only one can be right")}
	case c.KeyFile != "":
		key, err := readTokenKey(c.KeyFile, v.algorithms)
		if err != nil {
			return nil, &fault{"jwt.key_file", err}
		}
		v.keys = []jose.JSONWebKey{{Key: key}}
		return v, nil
	}
	if err := v.reload(); err != nil {
		return nil, &fault{"jwt.jwks_file", err}
	}
	return v, nil
}

const errBadToken = httpkey.ScopeError("The request carries no valid bearer token.")

// scope returns the rule that takes the principal from a claim.
func (v *tokenVerifier) scope(claim string) httpkey.Scope {
	return func(r *http.Request) (string, error) {
		values := r.Header.Values("Authorization")
		if len(values) != 1 {
			return "", errBadToken
		}
		scheme, raw, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", errBadToken
		}
		claims, err := v.verify(strings.TrimSpace(raw))
		if err != nil {
			return "", errBadToken
		}
		var issuer string
		if given, ok := claims["iss"]; ok && json.Unmarshal(given, &issuer) != nil {
			return "", errBadToken
		}
		principal := claimText(claims[claim])
		if principal == "" {
			return "", httpkey.ScopeError("The bearer token has no claim " + claim + ".")
		}
		return jwtPrefix + semel.Join(issuer, principal), nil
	}
}

// verify returns the claims of a token that is to be believed.
func (v *tokenVerifier) verify(raw string) (map[string]json.RawMessage, error) {
	token, err := jwt.ParseSigned(raw, v.algorithms)
	if err != nil {
		return nil, err
	}
	head := token.Headers[0]
	for _, key := range v.current() {
		if head.KeyID != "" && key.KeyID != "" && head.KeyID != key.KeyID || key.Algorithm != "" && key.Algorithm != head.Algorithm {
			continue
		}
		var claims map[string]json.RawMessage
		var standard jwt.Claims
		if token.Claims(key.Key, &claims, &standard) != nil {
			continue
		}
		expected := jwt.Expected{Issuer: v.jwt.Issuer, Time: time.Now()}
		if v.jwt.Audience != "" {
			expected.AnyAudience = jwt.Audience{v.jwt.Audience}
		}
		return claims, standard.Validate(expected)
	}
	return nil, errors.New("no key verifies the token")
}

// claimText is a claim that names somebody: a string, or a number as written.
func claimText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}
