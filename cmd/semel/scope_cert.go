package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
)

// certScope makes a scope of the names that a verified client certificate
// gives its holder. They stay when the certificate or its key is renewed,
// which the key's digest would not.
func certScope(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", nil
	}
	leaf := r.TLS.VerifiedChains[0][0]
	names := append(slices.Clone(leaf.DNSNames), leaf.EmailAddresses...)
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	if leaf.Subject.String() == "" && len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	digest := sha256.New()
	for _, part := range append([]string{string(leaf.RawSubject)}, names...) {
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write([]byte(part))
	}
	return certPrefix + hex.EncodeToString(digest.Sum(nil)), nil
}
