// Package canonjson writes JSON texts that say the same in one form: without
// insignificant white space, the members of objects sorted by name, strings
// escaped in one way. Arrays keep their order and numbers their text: 1, 1.0 and
// 9007199254740993 mean what their writer meant, not what a float64 can hold.
//
// A text that is not strictly valid has no canonical form: readers disagree
// about duplicate members, lone surrogates or trailing bytes, and what one of
// them takes for equal may not be.
package canonjson

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds the nesting of arrays and objects.
const maxDepth = 200

// Append appends the canonical form of text to dst. It reports false, and
// returns dst as it was, if text is not one strictly valid JSON value (RFC 8259)
// in UTF-8 with unique member names at every depth, nested at most 200 deep.
func Append(dst, text []byte) ([]byte, bool) {
	s := scanner{text: text, out: dst}
	s.blanks()
	if !s.value(0) {
		return dst, false
	}
	if s.blanks(); s.at < len(s.text) {
		return dst, false
	}
	return s.out, true
}

type scanner struct {
	text []byte
	at   int
	out  []byte
}

// peek returns the next byte, or 0 at the end: no token begins with it.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) take(b byte) bool {
	if s.peek() != b {
		return false
	}
	s.at++
	return true
}

func (s *scanner) blanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) bool {
	switch b := s.peek(); {
	case b == '{':
		return depth < maxDepth && s.object(depth+1)
	case b == '[':
		return depth < maxDepth && s.array(depth+1)
	case b == '"':
		return s.str()
	case b == '-' || '0' <= b && b <= '9':
		return s.number()
	}
	return s.word("true") || s.word("false") || s.word("null")
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	s.out = append(s.out, w...)
	return true
}

func (s *scanner) array(depth int) bool {
	s.at++
	s.out = append(s.out, '[')
	s.blanks()
	if !s.take(']') {
		for {
			s.blanks()
			if !s.value(depth) {
				return false
			}
			s.blanks()
			if s.take(']') {
				break
			}
			if !s.take(',') {
				return false
			}
			s.out = append(s.out, ',')
		}
	}
	s.out = append(s.out, ']')
	return true
}

// member is where a member stands in the scanner's output, relative to where
// its object begins.
type member struct{ start, name, end int }

// object writes the members as they come and then puts them in order. Names
// are compared in their canonical form, in which equal names are equal bytes.
func (s *scanner) object(depth int) bool {
	s.at++
	begin := len(s.out)
	var fixed [8]member // most objects are small
	members := fixed[:0]
	s.blanks()
	if !s.take('}') {
		for {
			s.blanks()
			m := member{start: len(s.out) - begin}
			if s.peek() != '"' || !s.str() {
				return false
			}
			m.name = len(s.out) - begin
			s.blanks()
			if !s.take(':') {
				return false
			}
			s.out = append(s.out, ':')
			s.blanks()
			if !s.value(depth) {
				return false
			}
			m.end = len(s.out) - begin
			members = append(members, m)
			s.blanks()
			if s.take('}') {
				break
			}
			if !s.take(',') {
				return false
			}
		}
	}
	return s.arrange(begin, members)
}

// arrange puts the members of an object in order, with the punctuation. It
// reports false if two have one name.
func (s *scanner) arrange(begin int, members []member) bool {
	body := s.out[begin:]
	name := func(m member) []byte { return body[m.start:m.name] }
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(name(a), name(b)) })
	for i := 1; i < len(members); i++ {
		if bytes.Equal(name(members[i-1]), name(members[i])) {
			return false
		}
	}
	ordered := make([]byte, 0, len(body)+len(members)+2)
	ordered = append(ordered, '{')
	for i, m := range members {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, body[m.start:m.end]...)
	}
	ordered = append(ordered, '}')
	s.out = append(s.out[:begin], ordered...)
	return true
}

// number keeps the text of a number.
func (s *scanner) number() bool {
	start := s.at
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return false
		}
	}
	s.out = append(s.out, s.text[start:s.at]...)
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for b := s.peek(); '0' <= b && b <= '9'; b = s.peek() {
		s.at++
	}
	return s.at > start
}

// str writes a string with as few escapes as JSON allows.
func (s *scanner) str() bool {
	s.at++
	s.out = append(s.out, '"')
	for s.at < len(s.text) {
		switch b := s.text[s.at]; {
		case b == '"':
			s.at++
			s.out = append(s.out, '"')
			return true
		case b == '\\':
			if !s.escape() {
				return false
			}
		case b < 0x20:
			return false
		case b < utf8.RuneSelf:
			s.at++
			s.out = append(s.out, b)
		default:
			r, n := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && n == 1 {
				return false
			}
			s.out = append(s.out, s.text[s.at:s.at+n]...)
			s.at += n
		}
	}
	return false
}
