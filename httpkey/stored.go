package httpkey

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// answer is an HTTP answer as it is kept for those who repeat the request.
type answer struct {
	Status    int
	Header    http.Header
	Ambiguous bool // the upstream may or may not have carried it out
	Body      []byte
}

// storedVersion begins every stored answer, so that its form may change.
const storedVersion = 1

// encode returns a as it is stored: the version, 1 if it is ambiguous, the
// status, the number of fields; of each field, in the order of names, the name,
// the number of lines and the lines; then the body to the end. Numbers are
// varints, texts come behind their length. It is not JSON, which cannot hold the
// bytes beyond ASCII that a field's value may have.
func (a *answer) encode() []byte {
	size := 4 * binary.MaxVarintLen64
	for name, lines := range a.Header {
		size += len(name) + 2*binary.MaxVarintLen32
		for _, line := range lines {
			size += len(line) + binary.MaxVarintLen32
		}
	}
	out := append(make([]byte, 0, size+len(a.Body)), storedVersion, 0)
	if a.Ambiguous {
		out[1] = 1
	}
	out = binary.AppendUvarint(out, uint64(max(0, a.Status)))
	out = binary.AppendUvarint(out, uint64(len(a.Header)))
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		out = appendText(out, name)
		out = binary.AppendUvarint(out, uint64(len(a.Header[name])))
		for _, line := range a.Header[name] {
			out = appendText(out, line)
		}
	}
	return append(out, a.Body...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

var errStored = errors.New("httpkey: a stored answer cannot be read: it was written by a newer version, or not by this package")

// decode reads what encode wrote. The body is part of what was given.
func decode(stored []byte) (*answer, error) {
	if len(stored) < 2 || stored[0] != storedVersion || stored[1] > 1 {
		return nil, errStored
	}
	r := storedReader{rest: stored[2:]}
	a := &answer{Ambiguous: stored[1] == 1, Status: r.number(999)}
	fields := r.number(len(stored))
	a.Header = make(http.Header, min(fields, 16))
	for range fields {
		name := r.text()
		lines := make([]string, r.number(len(r.rest)))
		for i := range lines {
			lines[i] = r.text()
		}
		a.Header[name] = lines
		if r.failed {
			break
		}
	}
	if a.Body = r.rest; r.failed || a.Status < 200 {
		return nil, errStored
	}
	return a, nil
}

// storedReader reads the head of a stored answer. After a failure it reads
// zeros.
type storedReader struct {
	rest   []byte
	failed bool
}

// number reads a number of at most limit.
func (r *storedReader) number(limit int) int {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 || n > uint64(limit) {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *storedReader) text() string {
	n := r.number(len(r.rest))
	if n > len(r.rest) {
		r.failed = true
	}
	if r.failed {
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}

// storedFields are the fields of an answer that are kept. It is a list of what
// may be kept: one of what may not would be out of date with the next field
// that somebody invents.
var storedFields = []string{
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location", "Content-Type",
	"Etag", "Last-Modified", "Link", "Location",
}

// neverStored are fields that no configuration can have kept: they belong to
// one exchange, one connection or one client.
var neverStored = []string{
	"Age", "Alt-Svc", "Authorization", "Authentication-Info", "Connection", "Content-Length", "Date",
	"Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Proxy-Connection",
	"Server", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Via", "Www-Authenticate",
}

// mayStore reports whether a configuration may add the field to those kept.
func mayStore(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return !slices.Contains(neverStored, name) &&
		!strings.HasPrefix(name, "Access-Control-") && !strings.HasPrefix(name, "Ratelimit") &&
		!strings.HasPrefix(name, "X-Ratelimit") && !strings.HasPrefix(name, "Idempoten")
}

// keep returns the fields of h that are stored with an answer of this status.
func keep(h http.Header, status int, extra []string) http.Header {
	kept := make(http.Header)
	perConnection := connectionFields(h)
	take := func(name string) {
		if values := h[name]; len(values) > 0 && !perConnection[name] {
			kept[name] = slices.Clone(values)
		}
	}
	for _, name := range storedFields {
		take(name)
	}
	if status >= 300 && status < 500 {
		take("Retry-After")
	}
	for _, name := range extra {
		take(textproto.CanonicalMIMEHeaderKey(name))
	}
	return kept
}

// connectionFields are the fields that the answer itself declares to belong to
// its connection.
func connectionFields(h http.Header) map[string]bool {
	var named map[string]bool
	for _, line := range h["Connection"] {
		if named == nil {
			named = make(map[string]bool)
		}
		for name := range strings.SplitSeq(line, ",") {
			named[textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name))] = true
		}
	}
	return named
}
