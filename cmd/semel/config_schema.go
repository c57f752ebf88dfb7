package main

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// configSchema is the JSON Schema of the file, for editors.
func configSchema() ([]byte, error) {
	schema, err := jsonschema.For[config](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[duration](): {Type: "string", Pattern: `^([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`},
		reflect.TypeFor[byteSize](): {Types: []string{"string", "integer"}},
	}})
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "semel"
	schema.Description = "Configuration of semel serve."
	for path, text := range configDefaults() {
		property := schema
		for name := range strings.SplitSeq(path, ".") {
			property = property.Properties[name]
		}
		property.Default = text
	}
	return json.MarshalIndent(schema, "", "  ")
}

// configDefaults are the defaults by path, as JSON.
func configDefaults() map[string]json.RawMessage {
	defaults := make(map[string]json.RawMessage)
	c := defaultConfig()
	for _, f := range configFields() {
		if f.index == nil {
			continue
		}
		v := f.find(c, false)
		if !v.IsValid() || v.IsZero() {
			continue
		}
		text, err := json.Marshal(v.Interface())
		if err != nil { // durations, sizes, strings, numbers
			panic(err)
		}
		defaults[f.path] = text
	}
	return defaults
}
