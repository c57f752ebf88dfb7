package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/semel-dev/semel"
)

// diff names the fields in which two records differ, one a line, or returns
// the empty string. Now is not compared: it differs by nature.
func diff(got, want semel.Record) string {
	var text string
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		name := g.Type().Field(i).Name
		if name != "Now" && !sameField(g.Field(i).Interface(), w.Field(i).Interface()) {
			text += fmt.Sprintf("\n\t%s: got %s, want %s", name, showField(g.Field(i).Interface()), showField(w.Field(i).Interface()))
		}
	}
	return text
}

func sameField(got, want any) bool {
	switch want := want.(type) {
	case time.Time:
		return got.(time.Time).Equal(want)
	case []byte:
		return sameBytes(got.([]byte), want)
	}
	return got == want
}

// sameBytes tells nil from empty: an empty note is a mark, no note is none.
func sameBytes(got, want []byte) bool {
	return (got == nil) == (want == nil) && bytes.Equal(got, want)
}

func showField(v any) string {
	switch v := v.(type) {
	case []byte:
		return showBytes(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%v", v)
}

func showBytes(b []byte) string {
	switch {
	case b == nil:
		return "nil"
	case len(b) > 40:
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}
