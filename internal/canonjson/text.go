package canonjson

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str copies one string in normal form.
func (s *scanner) str() bool {
	s.take('"')
	for {
		start := s.pos
		for s.pos < len(s.src) && isPlain(s.src[s.pos]) {
			s.pos++
		}
		s.text = append(s.text, s.src[start:s.pos]...)
		if s.pos == len(s.src) {
			return false
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			return s.take('"')
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < 0x20:
			return false
		default:
			if !s.multibyte() {
				return false
			}
		}
	}
}

// isPlain reports whether c is ASCII that stands for itself in a string.
func isPlain(c byte) bool {
	return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\'
}

// multibyte copies one character beyond ASCII.
func (s *scanner) multibyte() bool {
	r, size := utf8.DecodeRune(s.src[s.pos:])
	if r == utf8.RuneError && size == 1 {
		return false
	}
	s.text = append(s.text, s.src[s.pos:s.pos+size]...)
	s.pos += size
	return true
}

// The letters of the short escapes, and what each stands for.
const (
	shortLetters = `"\/bfnrt`
	shortMeaning = "\"\\/\b\f\n\r\t"
)

// escape reads one escape, both halves of a surrogate pair included, and
// writes what it stands for.
func (s *scanner) escape() bool {
	if s.pos+1 >= len(s.src) {
		return false
	}
	c := s.src[s.pos+1]
	if i := strings.IndexByte(shortLetters, c); i >= 0 {
		s.pos += 2
		s.char(rune(shortMeaning[i]))
		return true
	}
	r, ok := s.unit()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) {
		low, ok := s.unit()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return false
		}
	}
	s.char(r)
	return true
}

// unit reads \uXXXX: one code unit of UTF-16.
func (s *scanner) unit() (rune, bool) {
	if s.pos+6 > len(s.src) || s.src[s.pos] != '\\' || s.src[s.pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s.src[s.pos+2 : s.pos+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 6
	return r, true
}

// char writes one character in normal form.
func (s *scanner) char(r rune) {
	if r >= utf8.RuneSelf || isPlain(byte(r)) {
		s.text = utf8.AppendRune(s.text, r)
		return
	}
	if i := strings.IndexByte(shortMeaning, byte(r)); i >= 0 {
		s.text = append(s.text, '\\', shortLetters[i])
		return
	}
	const hex = "0123456789abcdef"
	s.text = append(s.text, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}
