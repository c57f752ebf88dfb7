package sfv

import (
	"strings"
	"unicode/utf8"
)

// parameters steps over the parameters of an item (section 4.2.3.2). They
// mean nothing to a key, but a field that breaks off inside one is damaged,
// and a damaged field must not pass as a key.
func (s *scanner) parameters() bool {
	for s.accept(';') {
		s.skipBlanks()
		if !s.name() {
			return false
		}
		if s.accept('=') && !s.bareItem() {
			return false
		}
	}
	return true
}

// name steps over the name of a parameter (section 4.2.3.3).
func (s *scanner) name() bool {
	if c := s.peek(); !isLower(c) && c != '*' {
		return false
	}
	s.run(func(c byte) bool {
		return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
	})
	return true
}

// bareItem steps over the value of a parameter (section 4.2.3.1).
func (s *scanner) bareItem() bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '*' || isAlpha(c):
		s.run(isToken)
		return true
	case c == '-' || isDigit(c):
		_, ok := s.number()
		return ok
	case s.accept('?'):
		return s.accept('0') || s.accept('1')
	case s.accept('@'):
		decimal, ok := s.number()
		return ok && !decimal
	case s.accept(':'):
		return s.bytes()
	case s.accept('%'):
		return s.displayString()
	}
	return false
}

// number steps over an Integer (15 digits) or a Decimal (12 and 3 digits).
func (s *scanner) number() (decimal, ok bool) {
	s.accept('-')
	whole := len(s.run(isDigit))
	if !s.accept('.') {
		return false, whole >= 1 && whole <= 15
	}
	fraction := len(s.run(isDigit))
	return true, whole >= 1 && whole <= 12 && fraction >= 1 && fraction <= 3
}

// bytes steps over the rest of a Byte Sequence: base64 with its padding.
func (s *scanner) bytes() bool {
	text := s.run(func(c byte) bool {
		return isAlpha(c) || isDigit(c) || c == '+' || c == '/' || c == '='
	})
	data := strings.TrimRight(text, "=")
	padding := len(text) - len(data)
	return s.accept(':') && len(text)%4 == 0 && padding <= 2 &&
		strings.IndexByte(data, '=') < 0
}

// displayString steps over the rest of a Display String: percent-encoded
// UTF-8, lower-case hex only.
func (s *scanner) displayString() bool {
	if !s.accept('"') {
		return false
	}
	var decoded []byte
	for {
		decoded = append(decoded, s.run(func(c byte) bool {
			return c >= 0x20 && c < 0x7f && c != '"' && c != '%'
		})...)
		if !s.accept('%') {
			break
		}
		hi, ok1 := s.hexDigit()
		lo, ok2 := s.hexDigit()
		if !ok1 || !ok2 {
			return false
		}
		decoded = append(decoded, hi<<4|lo)
	}
	return s.accept('"') && utf8.Valid(decoded)
}

// hexDigit steps over one lower-case hex digit.
func (s *scanner) hexDigit() (byte, bool) {
	c := s.peek()
	s.pos = min(s.pos+1, len(s.text))
	switch {
	case isDigit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }

// isToken reports whether c may stand inside a Token.
func isToken(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}
