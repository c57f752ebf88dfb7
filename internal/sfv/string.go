// Package sfv reads the one structured field that semel receives: an Item
// whose value is a String (RFC 9651, section 4.2.5), as the Idempotency-Key
// draft prescribes. Parameters are checked and dropped.
//
// It is no general parser of structured fields: lists, dictionaries and items
// of another type are recognised only as far as is needed to refuse them.
package sfv

import (
	"errors"
	"strings"
)

// ErrSyntax is returned for a field that is not a well-formed String item.
var ErrSyntax = errors.New("not a structured field string")

// ErrList is returned for a field whose first member is a well-formed String
// and that goes on with a comma: several members where one is allowed. What
// follows the comma is not looked at.
var ErrList = errors.New("a list, not a single structured field string")

// ParseString returns the decoded value of a field that holds one String item.
// Blanks (SP only, as the RFC says) around the item are allowed. The value
// shares memory with field unless it had escapes.
func ParseString(field string) (string, error) {
	s := scanner{text: field}
	s.skipBlanks()
	value, ok := s.str()
	if !ok || !s.parameters() {
		return "", ErrSyntax
	}
	rest := s.text[s.pos:]
	switch {
	case strings.Trim(rest, " ") == "":
		return value, nil
	case strings.HasPrefix(strings.TrimLeft(rest, " \t"), ","):
		return "", ErrList
	}
	return "", ErrSyntax
}

// scanner walks over the field, one byte at a time.
type scanner struct {
	text string
	pos  int
}

// peek returns the next byte, or 0 at the end: no rule admits a NUL, so the
// two need not be told apart.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// accept steps over c, which is not NUL, if it is next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// run steps over all bytes that in admits and returns them.
func (s *scanner) run(in func(byte) bool) string {
	start := s.pos
	for s.pos < len(s.text) && in(s.text[s.pos]) {
		s.pos++
	}
	return s.text[start:s.pos]
}

func (s *scanner) skipBlanks() {
	s.run(func(c byte) bool { return c == ' ' })
}

// str reads a quoted String and decodes its escapes.
func (s *scanner) str() (string, bool) {
	if !s.accept('"') {
		return "", false
	}
	plain := s.run(isUnescaped)
	if s.accept('"') {
		return plain, true
	}
	var b strings.Builder
	b.WriteString(plain)
	for s.accept('\\') {
		c := s.peek()
		if c != '"' && c != '\\' {
			return "", false
		}
		s.pos++
		b.WriteByte(c)
		b.WriteString(s.run(isUnescaped))
	}
	return b.String(), s.accept('"')
}

// isUnescaped reports whether c stands for itself inside a String.
func isUnescaped(c byte) bool {
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'
}
