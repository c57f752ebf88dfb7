package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/httpkey"
)

// errRotates is what a client reads that identifies itself by a token: the retry
// that comes with the next token would be somebody else's.
const errRotates = httpkey.ScopeError("The credential is a JSON Web Token, which is replaced by the next one every so often; " +
	"a retry with that one would run again. Set the scope rule jwt:sub, which reads who the token is about.")

// credentialScope makes a scope of the secret that the caller shows: the same
// credential, the same keys. The store never sees the credential.
func credentialScope(secret []byte, cookies []string) httpkey.Scope {
	return func(r *http.Request) (string, error) {
		mac := hmac.New(sha256.New, secret)
		found := false
		add := func(name, value string) {
			for _, part := range [...]string{name, value} {
				mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
				mac.Write([]byte(part))
			}
			found = true
		}
		switch values := r.Header.Values("Authorization"); {
		case len(values) > 1:
			return "", nil
		case len(values) == 1 && values[0] != "":
			_, credential, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
			if looksLikeJWT(strings.TrimSpace(credential)) {
				return "", errRotates
			}
			add("Authorization", values[0])
		}
		for _, name := range cookies {
			cookie, err := r.Cookie(name)
			if err != nil || cookie.Value == "" {
				continue
			}
			if looksLikeJWT(cookie.Value) {
				return "", errRotates
			}
			add(name, cookie.Value)
		}
		if !found {
			return "", nil
		}
		return credentialPrefix + hex.EncodeToString(mac.Sum(nil)), nil
	}
}

// looksLikeJWT reports whether text has three parts, the first of which is a
// JSON object that names an algorithm.
func looksLikeJWT(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	head, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[0], "="))
	if err != nil {
		return false
	}
	var fields map[string]any
	return json.Unmarshal(head, &fields) == nil && fields["alg"] != nil
}
