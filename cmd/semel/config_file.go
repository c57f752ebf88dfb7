package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const defaultConfigFile = "/etc/semel/semel.yaml"

// configFile is the text of a configuration, kept for what errors show of it.
type configFile struct {
	name string
	tree *ast.File
}

// readConfigFile reads a file into c. Without a name it is the default file,
// which may be missing.
func readConfigFile(c *config, name string) (*configFile, error) {
	optional := name == ""
	if optional {
		name = defaultConfigFile
	}
	text, err := os.ReadFile(name) //nolint:gosec // whoever starts the program names the file
	switch {
	case optional && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f := &configFile{name: name}
	return f, f.decode(c, text)
}

func (f *configFile) decode(c *config, text []byte) error {
	var err error
	if f.tree, err = parser.ParseBytes(text, 0); err != nil {
		return f.explain(err)
	}
	if len(f.tree.Docs) > 1 {
		return f.at(f.tree.Docs[1].Body.GetToken(), "the file has more than one document")
	}
	for _, doc := range f.tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if err := f.check(doc.Body, reflect.TypeFor[config]()); err != nil {
			return err
		}
		if err := yaml.NodeToValue(doc.Body, c, yaml.Strict()); err != nil {
			return f.explain(err)
		}
	}
	return nil
}

// check finds the fields that no struct has: the decoder would, too, but could
// not say which one was meant.
func (f *configFile) check(node ast.Node, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if list, ok := node.(*ast.SequenceNode); ok && t.Kind() == reflect.Slice {
		for _, item := range list.Values {
			if err := f.check(item, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	values := mappingOf(node)
	fields := namesOf(t)
	for _, value := range values {
		name := value.Key.GetToken().Value
		field, ok := fields[name]
		if !ok {
			return f.at(value.Key.GetToken(), "unknown field %q"+suggest(name, fields), name)
		}
		if err := f.check(value.Value, field.Type); err != nil {
			return err
		}
		// In a route it would read as not set, and the top's value would hold.
		if t == reflect.TypeFor[Route]() && positive(field.Type) && isZero(field.Type, value.Value) {
			return f.at(value.Value.GetToken(), "must be more than 0")
		}
	}
	return nil
}

// positive reports whether fields of a type are settings of a route that mean
// nothing when they are 0. Where 0 means something the field is a pointer.
func positive(t reflect.Type) bool {
	return t == reflect.TypeFor[duration]() || t == reflect.TypeFor[byteSize]()
}

func isZero(t reflect.Type, node ast.Node) bool {
	v := reflect.New(t).Elem()
	return setText(v, node.GetToken().Value) == nil && v.IsZero()
}

func mappingOf(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

// namesOf returns the fields that a mapping for t may have.
func namesOf(t reflect.Type) map[string]reflect.StructField {
	names := make(map[string]reflect.StructField)
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names[name] = field
		}
	}
	return names
}

// suggest names the field that was probably meant: one of the same mapping, or
// else one that belongs elsewhere.
func suggest(name string, fields map[string]reflect.StructField) string {
	here := slices.Sorted(maps.Keys(fields))
	var elsewhere []string
	for _, f := range configFields() {
		elsewhere = append(elsewhere, f.path)
	}
	if meant := closest(name, here); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	if meant := closest(name, elsewhere); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// at is an error at a place of the file, with an excerpt.
func (f *configFile) at(tk *token.Token, format string, args ...any) error {
	text := yaml.FormatErrorWithToken(fmt.Sprintf(format, args...), tk, false, true)
	return errors.New(strings.TrimRight(place.ReplaceAllString(text, f.name+":$1:$2: "), "\n"))
}

// place is how the YAML library writes a line and a column.
var place = regexp.MustCompile(`^\[(\d+):(\d+)\] `)

// explain adds the place and an excerpt to an error of the YAML library.
func (f *configFile) explain(err error) error {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	var mismatch *yaml.TypeError
	if errors.As(err, &mismatch) {
		return f.at(mismatch.Token, "this is %s, but %s is wanted", inWords(mismatch.SrcType), inWords(mismatch.DstType))
	}
	var kind *yaml.UnexpectedNodeTypeError
	if errors.As(err, &kind) {
		return f.at(kind.Token, "this is a %s, but a %s is wanted", kind.Actual.YAMLName(), kind.Expected.YAMLName())
	}
	return f.at(located.GetToken(), "%s", located.GetMessage())
}

func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	}
	return "a " + t.Kind().String()
}

// token finds where the file sets a field, or returns nil if it does not.
func (f *configFile) token(path string) *token.Token {
	if f == nil {
		return nil
	}
	p, err := yaml.PathString("$." + path)
	if err != nil {
		return nil
	}
	node, err := p.FilterFile(f.tree)
	if err != nil {
		return nil
	}
	return node.GetToken()
}

// UnmarshalYAML implements yaml.NodeUnmarshaler, so that errors name their place.
func (d *duration) UnmarshalYAML(node ast.Node) error { return unmarshalScalar(node, d.UnmarshalText) }

// UnmarshalYAML implements yaml.NodeUnmarshaler, so that errors name their place.
func (s *byteSize) UnmarshalYAML(node ast.Node) error { return unmarshalScalar(node, s.UnmarshalText) }

func unmarshalScalar(node ast.Node, unmarshal func([]byte) error) error {
	if _, ok := node.(ast.ScalarNode); !ok {
		return &yaml.SyntaxError{Message: "a single value is wanted", Token: node.GetToken()}
	}
	if err := unmarshal([]byte(node.GetToken().Value)); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
	}
	return nil
}
