package canonjson

// scanner reads src once and writes it, without blanks and with normal
// strings, to text. Its methods are false as soon as src is not strict JSON.
type scanner struct {
	src     []byte
	pos     int
	text    []byte
	objects []object
	members []member
	stack   []member // members of the objects that are still open
}

// value reads one value that lies inside depth arrays and objects.
func (s *scanner) value(depth int) bool {
	if s.pos == len(s.src) {
		return false
	}
	switch c := s.src[s.pos]; c {
	case '{':
		return depth < MaxDepth && s.object(depth+1)
	case '[':
		return depth < MaxDepth && s.array(depth+1)
	case '"':
		return s.str()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) object(depth int) bool {
	index, base := s.open(), len(s.stack)
	s.take('{')
	s.blanks()
	if s.take('}') {
		return s.close(index, base)
	}
	for {
		s.blanks()
		if !s.member(depth) {
			return false
		}
		s.blanks()
		if !s.take(',') {
			return s.take('}') && s.close(index, base)
		}
	}
}

func (s *scanner) member(depth int) bool {
	m := member{start: len(s.text)}
	if s.pos == len(s.src) || s.src[s.pos] != '"' || !s.str() {
		return false
	}
	m.colon = len(s.text)
	s.blanks()
	if !s.take(':') {
		return false
	}
	s.blanks()
	m.inside = len(s.objects)
	if !s.value(depth) {
		return false
	}
	m.end = len(s.text)
	s.stack = append(s.stack, m)
	return true
}

func (s *scanner) array(depth int) bool {
	s.take('[')
	s.blanks()
	if s.take(']') {
		return true
	}
	for {
		s.blanks()
		if !s.value(depth) {
			return false
		}
		s.blanks()
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// number copies a number: -? (0 | [1-9][0-9]*) fraction? exponent?
func (s *scanner) number() bool {
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
		return s.digits()
	}
	return true
}

// digits copies one digit or more.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	s.text = append(s.text, s.src[start:s.pos]...)
	return s.pos > start
}

func (s *scanner) literal(word string) bool {
	end := s.pos + len(word)
	if end > len(s.src) || string(s.src[s.pos:end]) != word {
		return false
	}
	s.pos = end
	s.text = append(s.text, word...)
	return true
}

// take copies c if it is next.
func (s *scanner) take(c byte) bool {
	if s.pos == len(s.src) || s.src[s.pos] != c {
		return false
	}
	s.pos++
	s.text = append(s.text, c)
	return true
}

// blanks steps over insignificant whitespace.
func (s *scanner) blanks() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}
