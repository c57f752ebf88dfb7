package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// configField is one field of the configuration.
type configField struct {
	path  string // as in the file: admin.listen, routes[].pattern
	env   string // SEMEL_ADMIN_LISTEN; empty within lists and maps: these are the file's alone
	doc   string
	typ   reflect.Type
	index []int // where it is in config; nil within lists
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// configFields lists every field, in the order of the struct.
func configFields() []configField {
	return fieldsOf(reflect.TypeFor[config](), "", "SEMEL_", nil)
}

func fieldsOf(t reflect.Type, path, env string, index []int) (fields []configField) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int{}, index...), i)
		if env == "" {
			at = nil
		}
		if f.Anonymous {
			fields = append(fields, fieldsOf(f.Type, path, env, at)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := configField{path: path + name, doc: f.Tag.Get("jsonschema"), typ: f.Type, index: at}
		if env != "" {
			field.env = env + strings.ToUpper(name)
		}
		fields = append(fields, field.expand()...)
	}
	return fields
}

// expand replaces a field that has fields of its own by these.
func (f *configField) expand() []configField {
	t := f.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(textUnmarshaler):
	case t.Kind() == reflect.Struct:
		if f.env == "" {
			return fieldsOf(t, f.path+".", "", nil)
		}
		return fieldsOf(t, f.path+".", f.env+"_", f.index)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return fieldsOf(t.Elem(), f.path+"[].", "", nil)
	case t.Kind() == reflect.Map:
		f.env = ""
	}
	return []configField{*f}
}

// find returns the field of c, or an invalid value if it lies within something
// that is not set. make sets it.
func (f *configField) find(c *config, create bool) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !create {
				return reflect.Value{}
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// set gives the field of c a value that is written as text. Items of a list are
// separated by commas.
func (f *configField) set(c *config, text string) error {
	return setText(f.find(c, true), text)
}

func setText(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		// A new one: the old may be shared with the settings it was taken from.
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		v.SetInt(int64(n))
	case reflect.Slice:
		items := reflect.MakeSlice(v.Type(), 0, 1)
		for item := range strings.SplitSeq(text, ",") {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := setText(e, strings.TrimSpace(item)); err != nil {
				return err
			}
			items = reflect.Append(items, e)
		}
		v.Set(items)
	default:
		return fmt.Errorf("%v cannot be set by text", v.Type())
	}
	return nil
}

// closest returns the known name that is most like a misspelt one, or "" if
// none is much like it.
func closest(name string, known []string) string {
	best, limit := "", max(2, len(name)/3)+1
	for _, k := range known {
		last := k[strings.LastIndexByte(k, '.')+1:]
		if d := min(distance(name, k), distance(name, last)); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance counts the edits (Levenshtein) that make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
