package httpkey

import (
	"encoding/binary"
	"mime"
	"slices"
	"strings"
)

// contentType is what the Content-Type of a request says, in the form in which
// two requests are compared.
type contentType struct {
	media string // lower-case type/subtype, "" if absent or malformed
	text  []byte // the compared form
}

// plainJSON is the compared form of the commonest type.
var plainJSON = []byte("mapplication/json")

// readContentType brings the value of a Content-Type field into the compared
// form: type, subtype and names of parameters in lower case, parameters in
// order of their names. Two of them are left out: the boundary of a multipart
// body, which clients draw anew for each attempt, and the charset of a JSON
// type, which has none (RFC 8259, section 11) though many clients write one.
// Elsewhere the charset counts, in any letter case: it changes what the bytes
// say. A value that is not well formed is compared as it stands.
func readContentType(value string) contentType {
	if value == "application/json" { // by far the commonest, so not through the parser
		return contentType{media: value, text: plainJSON}
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil {
		return contentType{text: []byte("r" + value)}
	}
	if isJSON(media) {
		delete(params, "charset")
	}
	if strings.HasPrefix(media, "multipart/") {
		delete(params, "boundary")
	}
	if charset, ok := params["charset"]; ok {
		params["charset"] = strings.ToLower(charset)
	}
	return contentType{media: media, text: joinParams("m"+media, params)}
}

// joinParams appends the parameters to head so that no value can pass for
// another parameter.
func joinParams(head string, params map[string]string) []byte {
	text := []byte(head)
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text = append(text, ';')
		text = append(text, name...)
		text = append(text, '=')
		text = binary.AppendUvarint(text, uint64(len(params[name])))
		text = append(text, params[name]...)
	}
	return text
}
