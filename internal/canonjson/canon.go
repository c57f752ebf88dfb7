// Package canonjson gives a JSON text one canonical form, so that two texts
// that say the same thing in another order of members, with other blanks or
// other escapes become equal bytes, and nothing else does.
//
// The canonical form of a text is itself JSON, never longer than the text:
//
//   - no insignificant whitespace;
//   - the members of each object, at every depth, sorted by the bytes of their
//     names as written in this form; the order of arrays is kept;
//   - strings in UTF-8, with only what must be escaped escaped: \" and \\, the
//     short forms \b \f \n \r \t, and \u00xx (lower case) for other controls;
//   - numbers exactly as they were written: 1, 1.0 and 1e0 differ, as do
//     9007199254740992 and 9007199254740993, which are one number to a reader
//     that knows only doubles (and to RFC 8785).
//
// Only strict texts have a canonical form. RFC 8259 leaves some things to the
// reader, and where readers may differ two different requests could look
// equal; so duplicate member names, invalid UTF-8, lone surrogates, a byte
// order mark and nesting beyond [MaxDepth] are refused like broken syntax.
package canonjson

// MaxDepth is how deep arrays and objects may be nested. Real requests stay
// far below it; it bounds the recursion.
const MaxDepth = 200

// Append appends the canonical form of text to dst. If text has none, ok is
// false and the bytes appended mean nothing. It takes time n log n, at worst,
// in the length of text.
func Append(dst, text []byte) (out []byte, ok bool) {
	// Room for an ordinary request in one piece, so that the slices need not grow.
	var room struct {
		objects        [8]object
		members, stack [16]member
	}
	s := scanner{
		src:     text,
		text:    make([]byte, 0, len(text)),
		objects: room.objects[:0],
		members: room.members[:0],
		stack:   room.stack[:0],
	}
	s.blanks()
	if !s.value(0) {
		return dst, false
	}
	s.blanks()
	if s.pos != len(s.src) {
		return dst, false
	}
	return s.emit(dst, 0, len(s.text), 0), true
}
