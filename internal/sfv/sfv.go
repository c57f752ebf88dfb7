// Package sfv reads a Structured Field whose value is a single String item
// (RFC 9651, sections 3.3.3 and 4.2.5). It is all that the Idempotency-Key
// field needs.
package sfv

import "errors"

// ErrSyntax reports a field value that is not a String item.
var ErrSyntax = errors.New("not a quoted string")

// String returns the value of a String item. Parameters have to be well-formed
// and are ignored.
func String(field string) (string, error) {
	p := parser{rest: trimRight(trimLeft(field))}
	value, err := p.quoted()
	if err != nil {
		return "", err
	}
	return value, p.parameters()
}

type parser struct{ rest string }

func trimLeft(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

func trimRight(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// take removes the next byte if it is b.
func (p *parser) take(b byte) bool {
	if len(p.rest) == 0 || p.rest[0] != b {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) quoted() (string, error) {
	if !p.take('"') {
		return "", ErrSyntax
	}
	var out []byte
	for i := 0; i < len(p.rest); i++ {
		switch b := p.rest[i]; {
		case b == '"':
			p.rest = p.rest[i+1:]
			return string(out), nil
		case b == '\\':
			i++
			if i == len(p.rest) || (p.rest[i] != '"' && p.rest[i] != '\\') {
				return "", ErrSyntax
			}
			out = append(out, p.rest[i])
		case b < 0x20 || b > 0x7e:
			return "", ErrSyntax
		default:
			out = append(out, b)
		}
	}
	return "", ErrSyntax
}

// parameters reads ;key or ;key=value, any number of times, to the end.
func (p *parser) parameters() error {
	for len(p.rest) > 0 {
		if !p.take(';') {
			return ErrSyntax
		}
		p.rest = trimLeft(p.rest)
		n := span(p.rest, isKeyByte)
		if n == 0 || isDigit(p.rest[0]) || p.rest[0] == '-' || p.rest[0] == '_' || p.rest[0] == '.' {
			return ErrSyntax
		}
		p.rest = p.rest[n:]
		if p.take('=') {
			if err := p.bareItem(); err != nil {
				return err
			}
		}
	}
	return nil
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
func isAlpha(b byte) bool { return isLower(b|0x20) && b < 0x80 }

func isKeyByte(b byte) bool {
	return isLower(b) || isDigit(b) || b == '_' || b == '-' || b == '.' || b == '*'
}
