package canonjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escape reads one escape sequence and writes the character that it stands for.
func (s *scanner) escape() bool {
	s.at++
	b := s.peek()
	s.at++
	switch b {
	case '"', '\\', '/':
		s.character(rune(b))
	case 'b':
		s.character('\b')
	case 'f':
		s.character('\f')
	case 'n':
		s.character('\n')
	case 'r':
		s.character('\r')
	case 't':
		s.character('\t')
	case 'u':
		return s.unicode()
	default:
		return false
	}
	return true
}

// unicode reads the rest of \uXXXX, and of a second one where the first is half
// of a pair. A half alone stands for no character.
func (s *scanner) unicode() bool {
	r, ok := s.hex4()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) {
		if !s.take('\\') || !s.take('u') {
			return false
		}
		low, ok := s.hex4()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return false
		}
	}
	s.character(r)
	return true
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.text)-s.at < 4 {
		return 0, false
	}
	var r rune
	for _, b := range s.text[s.at : s.at+4] {
		switch {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	s.at += 4
	return r, true
}

const hexDigits = "0123456789abcdef"

// character writes a character inside a string, escaped only if it must be.
func (s *scanner) character(r rune) {
	switch {
	case r == '"' || r == '\\':
		s.out = append(s.out, '\\', byte(r))
	case r < 0x20:
		s.out = append(s.out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	default:
		s.out = utf8.AppendRune(s.out, r)
	}
}
