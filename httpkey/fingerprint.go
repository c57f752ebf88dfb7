package httpkey

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"
)

// A fingerprint tells whether two requests with one key ask for the same
// thing. It is binary and of fixed size:
//
//	offset  bytes
//	     0      2  version, "v1"
//	     2      8  method        the first 8 bytes of the SHA-256 of each part,
//	    10      8  path          which serve to name the part that differs
//	    18      8  query
//	    26      8  content type
//	    34      8  If-Match
//	    42      8  other selected fields
//	    50     32  SHA-256 of all parts and the body
//	    82     32  SHA-256 of all parts and the canonical JSON of the body,
//	               all zero if it has none
//
// Two requests are the same if either long digest is. The first one avoids
// false matches, the second false mismatches. The short ones decide nothing.
//
// The version changes with any change in what is digested, so that a change
// reads as a mismatch and never as a match.
const (
	fpVersion = "v1"
	fpShort   = 8
	fpRawAt   = len(fpVersion) + fpShort*fpParts
	fpCanonAt = fpRawAt + sha256.Size
	fpSize    = fpCanonAt + sha256.Size
)

// fpPartNames names the parts with a short digest, in their order.
var fpPartNames = [fpParts]string{"method", "path", "query", "content-type", "if-match", "header"}

const fpParts = 6

// fingerprint returns the fingerprint of r with the given body. It covers the
// method, the path as the client escaped it, the query in the client's order,
// the content type, If-Match, the fields called headers, and the body. Other
// fields do not count: request ids, dates, signatures and rotated credentials
// change with every attempt of one and the same request.
func fingerprint(r *http.Request, headers []string, body []byte) []byte {
	ct := readContentType(fieldValue(r.Header, "Content-Type"))
	parts := [fpParts][]byte{
		[]byte(r.Method),
		[]byte(r.URL.EscapedPath()),
		[]byte(r.URL.RawQuery),
		ct.text,
		appendField(nil, r.Header, "If-Match"),
		appendFields(nil, r.Header, headers),
	}
	fp := append(make([]byte, 0, fpSize), fpVersion...)
	head := make([]byte, 0, 256)
	for _, part := range parts {
		sum := sha256.Sum256(part)
		fp = append(fp, sum[:fpShort]...)
		head = appendPart(head, part)
	}
	fp = appendDigest(fp, head, body)
	if canon, ok := canonicalBody(ct.media, body); ok {
		return appendDigest(fp, head, canon)
	}
	return append(fp, make([]byte, sha256.Size)...)
}

// same reports whether two fingerprints are of the same request. What is not a
// fingerprint of this version equals nothing, itself included: a row that
// cannot be read must not replay its answer.
func same(stored, given []byte) bool {
	if !isFingerprint(stored) || !isFingerprint(given) {
		return false
	}
	if bytes.Equal(stored[fpRawAt:fpCanonAt], given[fpRawAt:fpCanonAt]) {
		return true
	}
	canon := [sha256.Size]byte(stored[fpCanonAt:])
	return canon != [sha256.Size]byte{} && canon == [sha256.Size]byte(given[fpCanonAt:])
}

// differs names the first part in which two fingerprints differ: method, path,
// query, content-type, if-match, header (one of the other selected fields) or
// body. It is empty if they are the same, or if that cannot be told because
// one of them is not a fingerprint of this version.
func differs(stored, given []byte) string {
	if !isFingerprint(stored) || !isFingerprint(given) || same(stored, given) {
		return ""
	}
	for i, name := range fpPartNames {
		at := len(fpVersion) + i*fpShort
		if !bytes.Equal(stored[at:at+fpShort], given[at:at+fpShort]) {
			return name
		}
	}
	return "body"
}

func isFingerprint(b []byte) bool {
	return len(b) == fpSize && string(b[:len(fpVersion)]) == fpVersion
}

// appendDigest appends the digest of the parts in head and of body.
func appendDigest(fp, head, body []byte) []byte {
	h := sha256.New()
	h.Write(head)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(body))))
	h.Write(body)
	return h.Sum(fp)
}

// appendPart appends part behind its length, so that no two rows of parts
// read the same.
func appendPart(dst, part []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(part)))
	return append(dst, part...)
}

// appendFields appends each of the named fields, in the order of names.
func appendFields(dst []byte, h http.Header, names []string) []byte {
	for _, name := range names {
		dst = appendField(dst, h, name)
	}
	return dst
}

// appendField appends the value of a field such that none, an empty one and
// any other value all differ.
func appendField(dst []byte, h http.Header, name string) []byte {
	if len(h.Values(name)) == 0 {
		return append(dst, 0)
	}
	return appendPart(append(dst, 1), []byte(fieldValue(h, name)))
}

// fieldValue joins the lines of a field as any proxy may do on the way (RFC
// 9110, section 5.3).
func fieldValue(h http.Header, name string) string {
	lines := h.Values(name)
	if len(lines) == 1 {
		return strings.Trim(lines[0], " \t")
	}
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		trimmed[i] = strings.Trim(line, " \t")
	}
	return strings.Join(trimmed, ", ")
}
