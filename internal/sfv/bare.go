package sfv

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// bareItem skips the value of a parameter, of whichever type.
func (p *parser) bareItem() error {
	if len(p.rest) == 0 {
		return ErrSyntax
	}
	switch b := p.rest[0]; {
	case b == '"':
		_, err := p.quoted()
		return err
	case b == '-' || isDigit(b):
		_, err := p.number()
		return err
	case isAlpha(b) || b == '*':
		p.rest = p.rest[span(p.rest, isTokenByte):]
		return nil
	case b == ':':
		return p.bytes()
	case b == '?':
		p.rest = p.rest[1:]
		if p.take('0') || p.take('1') {
			return nil
		}
	case b == '@':
		p.rest = p.rest[1:]
		if decimal, err := p.number(); err == nil && !decimal {
			return nil
		}
	case b == '%':
		return p.display()
	}
	return ErrSyntax
}

const tokenExtra = "!#$%&'*+-.^_`|~:/"

func isTokenByte(b byte) bool {
	return isAlpha(b) || isDigit(b) || strings.IndexByte(tokenExtra, b) >= 0
}

// number skips an Integer (15 digits) or a Decimal (12 before the point, 3
// after it) and says which it was.
func (p *parser) number() (decimal bool, err error) {
	p.take('-')
	whole := span(p.rest, isDigit)
	p.rest = p.rest[whole:]
	if !p.take('.') {
		if whole == 0 || whole > 15 {
			return false, ErrSyntax
		}
		return false, nil
	}
	fraction := span(p.rest, isDigit)
	p.rest = p.rest[fraction:]
	if whole == 0 || whole > 12 || fraction == 0 || fraction > 3 {
		return true, ErrSyntax
	}
	return true, nil
}

func (p *parser) bytes() error {
	encoded, rest, ok := strings.Cut(p.rest[1:], ":")
	if !ok {
		return ErrSyntax
	}
	p.rest = rest
	// RFC 9651 lets a parser accept missing padding.
	if _, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=")); err != nil || strings.ContainsAny(encoded, "\r\n") {
		return ErrSyntax
	}
	return nil
}

// display skips a Display String: %"..." with percent-encoded UTF-8.
func (p *parser) display() error {
	p.rest = p.rest[1:]
	if !p.take('"') {
		return ErrSyntax
	}
	var out []byte
	for len(p.rest) > 0 {
		b := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case b == '"':
			if !utf8.Valid(out) {
				return ErrSyntax
			}
			return nil
		case b == '%':
			if len(p.rest) < 2 || !isLowerHex(p.rest[0]) || !isLowerHex(p.rest[1]) {
				return ErrSyntax
			}
			out = append(out, unhex(p.rest[0])<<4|unhex(p.rest[1]))
			p.rest = p.rest[2:]
		case b < 0x20 || b > 0x7e:
			return ErrSyntax
		default:
			out = append(out, b)
		}
	}
	return ErrSyntax
}

func isLowerHex(b byte) bool { return isDigit(b) || 'a' <= b && b <= 'f' }

func unhex(b byte) byte {
	if isDigit(b) {
		return b - '0'
	}
	return b - 'a' + 10
}
