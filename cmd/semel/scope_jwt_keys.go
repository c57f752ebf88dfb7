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
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// readTokenKey reads a public key, or a secret. A public key as a secret, which
// everybody knows, is the classic mistake: neither is taken for the other.
func readTokenKey(name string, algorithms []jose.SignatureAlgorithm) (any, error) {
	text, err := os.ReadFile(name)
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
