package httpkey

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/canonjson"
)

// A fingerprint tells a retry from a reused key. Version 1 is
//
//	1 byte   version
//	8 bytes  each: method, path, query, content type, selected fields
//	32 bytes digest of the body as it came
//	32 bytes digest of its canonical form; zeros if it has none
//
// The short digests name the part that differs; the body, which an attacker can
// choose at length, has full ones. Each is SHA-256 over length-prefixed texts.
const (
	fingerprintVersion = 1
	partBytes          = 8
	bodyAt             = 1 + partBytes*5
	canonicalAt        = bodyAt + sha256.Size
	fingerprintBytes   = canonicalAt + sha256.Size
)

// parts are the names of the short digests, as a problem document shows them.
var parts = [...]string{"method", "path", "query", "content-type", "header"}

// newFingerprint returns r's fingerprint; fields are the names of the request
// fields that belong to its meaning.
func newFingerprint(r *http.Request, fields []string, body []byte) []byte {
	fp := make([]byte, 0, fingerprintBytes)
	fp = append(fp, fingerprintVersion)
	mediaType := mediaTypeOf(r.Header.Get("Content-Type"))
	for _, part := range [...]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, mediaType, fieldsOf(r.Header, fields)} {
		sum := sha256.Sum256([]byte(part))
		fp = append(fp, sum[:partBytes]...)
	}
	sum := sha256.Sum256(body)
	fp = append(fp, sum[:]...)
	canonical, ok := []byte(nil), false
	if isJSON(mediaType) {
		canonical, ok = canonjson.Append(make([]byte, 0, len(body)+64), body)
	}
	if !ok {
		return fp[:fingerprintBytes]
	}
	sum = sha256.Sum256(canonical)
	return append(fp, sum[:]...)
}

// mediaTypeOf returns the type without its parameters: a boundary differs with
// each attempt, and a charset says nothing that the body's bytes do not.
func mediaTypeOf(field string) string {
	t, _, err := mime.ParseMediaType(field)
	if err != nil {
		t, _, _ = strings.Cut(field, ";")
		return strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// fieldsOf joins the named fields, each with its number of lines and each line
// with its length.
func fieldsOf(h http.Header, names []string) string {
	if len(names) == 0 {
		return ""
	}
	var buf []byte
	for _, name := range names {
		values := h.Values(name)
		buf = binary.AppendUvarint(buf, uint64(len(values)))
		for _, v := range values {
			buf = binary.AppendUvarint(buf, uint64(len(v)))
			buf = append(buf, v...)
		}
	}
	return string(buf)
}

// sameFingerprint reports whether two fingerprints are of one request. What
// cannot be read never is.
func sameFingerprint(stored, given []byte) bool { return differs(stored, given) == "" }

// differs names the first part in which two fingerprints differ, or nothing. A
// body is the same if either digest agrees: the raw one for what has no
// canonical form, the canonical one for JSON whose writer orders members anew.
func differs(stored, given []byte) string {
	if !readable(stored) || !readable(given) {
		return "version"
	}
	for i, name := range parts {
		from, to := 1+i*partBytes, 1+(i+1)*partBytes
		if !bytes.Equal(stored[from:to], given[from:to]) {
			return name
		}
	}
	if bytes.Equal(stored[bodyAt:canonicalAt], given[bodyAt:canonicalAt]) {
		return ""
	}
	canonical := stored[canonicalAt:]
	if slices.Max(canonical) > 0 && bytes.Equal(canonical, given[canonicalAt:]) {
		return ""
	}
	return "body"
}

func readable(fp []byte) bool { return len(fp) == fingerprintBytes && fp[0] == fingerprintVersion }
