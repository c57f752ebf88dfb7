package canonjson

import (
	"bytes"
	"slices"
)

// Reading writes the text in the order of the source and notes where the
// objects lie that need sorting; writing then copies each byte once, jumping
// from member to member. Sorting in place while reading would move the inner
// objects once for each level around them.

// object is one object of the text that cannot be copied as it stands.
type object struct {
	start, end   int // where it lies in scanner.text
	first, after int // its sorted members in scanner.members
	next         int // the first of scanner.objects that begins behind it
}

// member is one name with its value.
type member struct {
	start, colon, end int // "name" is text[start:colon], all of it text[start:end]
	inside            int // the first of scanner.objects that may lie inside
}

// open notes an object that begins here and returns its place in objects.
// Objects stand there in the order in which they begin.
func (s *scanner) open() int {
	s.objects = append(s.objects, object{start: len(s.text)})
	return len(s.objects) - 1
}

// close sorts the members from base on of the object at index and takes them
// off the stack. It is false if two have one name.
func (s *scanner) close(index, base int) bool {
	members := s.stack[base:]
	s.stack = s.stack[:base]
	inOrder := s.ascending(members)
	if !inOrder {
		slices.SortFunc(members, s.byName)
		if !s.ascending(members) {
			return false
		}
	}
	if inOrder && index == len(s.objects)-1 {
		// Nothing to move here or further in: an ordinary stretch of text.
		s.objects = s.objects[:index]
		return true
	}
	o := &s.objects[index]
	o.end, o.next = len(s.text), len(s.objects)
	o.first = len(s.members)
	s.members = append(s.members, members...)
	o.after = len(s.members)
	return true
}

// ascending reports whether each name is greater than the one before it.
func (s *scanner) ascending(members []member) bool {
	for i := 1; i < len(members); i++ {
		if s.byName(members[i-1], members[i]) >= 0 {
			return false
		}
	}
	return true
}

// byName orders members by name. The written form of a name is unique, so
// equal bytes mean equal names.
func (s *scanner) byName(a, b member) int {
	return bytes.Compare(s.text[a.start:a.colon], s.text[b.start:b.colon])
}

// emit appends text[from:to] with its objects sorted; index is the first of
// objects that may lie inside.
func (s *scanner) emit(dst []byte, from, to, index int) []byte {
	for index < len(s.objects) && s.objects[index].start < to {
		o := s.objects[index]
		dst = append(dst, s.text[from:o.start]...)
		dst = append(dst, '{')
		for i, m := range s.members[o.first:o.after] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.emit(dst, m.start, m.end, m.inside)
		}
		dst = append(dst, '}')
		from, index = o.end, o.next
	}
	return append(dst, s.text[from:to]...)
}
