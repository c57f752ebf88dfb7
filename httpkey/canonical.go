package httpkey

import (
	"strings"

	"github.com/semel-dev/semel/internal/canonjson"
)

// canonicalBody returns body in the one form that all equivalent JSON texts
// share. It is false for a body that is not of a JSON type or is not strict
// JSON: such a body is compared by its bytes alone, which is never an error
// and never takes two requests for one.
func canonicalBody(mediaType string, body []byte) ([]byte, bool) {
	if !isJSON(mediaType) {
		return nil, false
	}
	return canonjson.Append(make([]byte, 0, len(body)), body)
}

// isJSON reports whether a lower-case media type without parameters says that
// the body is one JSON text. JSON sequences and lines are not.
func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}
