package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
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

// readTokenKey reads a public key, or a secret. A public key as a secret, which
// everybody knows, is the classic mistake: neither is taken for the other.
func readTokenKey(name string, algorithms []jose.SignatureAlgorithm) (any, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the configuration names the file
	if err != nil {
		return nil, err
	}
	symmetric := slices.ContainsFunc(algorithms, func(a jose.SignatureAlgorithm) bool { return slices.Contains(secretAlgorithms, a) })
	block, _ := pem.Decode(text)
	if block == nil {
		secret := bytes.TrimRight(text, "\r\n")
		switch {
		case slices.ContainsFunc(algorithms, func(a jose.SignatureAlgorithm) bool { return slices.Contains(publicAlgorithms, a) }):
			return nil, errors.New("the file has no PEM block; for a secret, set jwt.algorithms to HS256, HS384 or HS512 alone")
		case len(secret) < 32:
			return nil, fmt.Errorf("a secret of %d bytes can be guessed: 32 are needed", len(secret))
		}
		return secret, nil
	}
	if symmetric {
		return nil, errors.New("a public key is no secret: jwt.algorithms must not name HS256, HS384 or HS512")
	}
	if block.Type == "CERTIFICATE" {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return checkTokenKey(cert.PublicKey)
	}
	if strings.Contains(block.Type, "PRIVATE") {
		return nil, errors.New("this is a private key; verifying needs the public one only")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return checkTokenKey(key)
}

func checkTokenKey(key any) (any, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.Size() < 256 {
			return nil, fmt.Errorf("an RSA key of %d bits is too short: 2048 are needed", key.Size()*8)
		}
		return key, nil
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return key, nil
	}
	return nil, fmt.Errorf("a key of type %T verifies no token", key)
}

// reload reads the key set if its file has changed.
func (v *tokenVerifier) reload() error {
	v.checked = time.Now()
	info, err := os.Stat(v.jwt.JWKSFile)
	if err != nil || info.ModTime().Equal(v.changed) {
		return err
	}
	text, err := os.ReadFile(v.jwt.JWKSFile)
	if err != nil {
		return err
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return err
	}
	var keys []jose.JSONWebKey
	for _, key := range set.Keys {
		if key.Use == "enc" {
			continue
		}
		if !key.IsPublic() {
			return fmt.Errorf("the key %q is not public; verifying needs public keys only", key.KeyID)
		}
		if _, err := checkTokenKey(key.Key); err != nil {
			return fmt.Errorf("the key %q: %w", key.KeyID, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return errors.New("the set has no key that verifies tokens")
	}
	v.keys, v.changed = keys, info.ModTime()
	return nil
}

// keySetAge is how long a key set is used before its file is looked at again.
const keySetAge = 10 * time.Second

// current returns the keys. A key set that cannot be read leaves the last one
// in force.
func (v *tokenVerifier) current() []jose.JSONWebKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.jwt.JWKSFile != "" && time.Since(v.checked) > keySetAge {
		_ = v.reload()
	}
	return v.keys
}

const badToken = httpkey.ScopeError("The request carries no valid bearer token.")

// scope returns the rule that takes the principal from a claim.
func (v *tokenVerifier) scope(claim string) httpkey.Scope {
	return func(r *http.Request) (string, error) {
		values := r.Header.Values("Authorization")
		if len(values) != 1 {
			return "", badToken
		}
		scheme, raw, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", badToken
		}
		claims, err := v.verify(strings.TrimSpace(raw))
		if err != nil {
			return "", badToken
		}
		var issuer string
		if given, ok := claims["iss"]; ok && json.Unmarshal(given, &issuer) != nil {
			return "", badToken
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
