package httpkey

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// answer is an HTTP answer as it is kept for those who repeat the request.
type answer struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header,omitempty"`
	Ambiguous bool        `json:"ambiguous,omitempty"` // the upstream may or may not have carried it out
	Body      []byte      `json:"-"`
}

// storedVersion begins every stored answer, so that its form may change.
const storedVersion = 1

// encode returns a as it is stored: a version, the length of the head, the head
// as JSON, the body as it is.
func (a *answer) encode() ([]byte, error) {
	head, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 1+binary.MaxVarintLen64+len(head)+len(a.Body))
	out = append(out, storedVersion)
	out = binary.AppendUvarint(out, uint64(len(head)))
	out = append(out, head...)
	return append(out, a.Body...), nil
}

var errStored = errors.New("httpkey: a stored answer cannot be read: it was written by a newer version, or not by this package")

// decode reads what encode wrote.
func decode(stored []byte) (*answer, error) {
	if len(stored) == 0 || stored[0] != storedVersion {
		return nil, errStored
	}
	n, size := binary.Uvarint(stored[1:])
	if size <= 0 || n > uint64(len(stored)-1-size) {
		return nil, errStored
	}
	head := stored[1+size : 1+size+int(n)]
	a := &answer{Body: stored[1+size+int(n):]}
	if err := json.Unmarshal(head, a); err != nil || a.Status < 200 || a.Status > 999 {
		return nil, errStored
	}
	return a, nil
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
	names := storedFields
	if status >= 300 && status < 500 {
		names = append(slices.Clip(names), "Retry-After")
	}
	perConnection := connectionFields(h)
	for _, name := range append(slices.Clip(names), extra...) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if values := h[name]; len(values) > 0 && !perConnection[name] {
			kept[name] = slices.Clone(values)
		}
	}
	return kept
}

// connectionFields are the fields that the answer itself declares to belong to
// its connection.
func connectionFields(h http.Header) map[string]bool {
	named := make(map[string]bool)
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			named[textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name))] = true
		}
	}
	return named
}
