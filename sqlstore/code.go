package sqlstore

import (
	"errors"
	"reflect"
)

// resultError is a driver's own error, and SQLite's result code in it, extended
// where the driver has it.
type resultError struct {
	error
	code int
}

// findResult finds the driver's error in err's tree; nil if there is none. No
// driver is imported, and none of them shares a type with another: one has a
// method Code that returns an int, one a method ExtendedCode that returns a type
// of its own (and is the bare extended code where there is no text), one a field
// ExtendedCode.
func findResult(err error) *resultError {
	if err == nil {
		return nil
	}
	if code, ok := codeOf(err); ok {
		return &resultError{err, code}
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			if r := findResult(e); r != nil {
				return r
			}
		}
	}
	return findResult(errors.Unwrap(err))
}

func codeOf(err error) (int, bool) {
	if e, ok := err.(interface{ Code() int }); ok {
		return e.Code(), true
	}
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return 0, false
	}
	// Constant names, so that the linker still drops unused methods.
	if m := v.MethodByName("ExtendedCode"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		return integer(m.Call(nil)[0])
	}
	if v.Kind() == reflect.Uint16 && v.MethodByName("Code").IsValid() {
		return integer(v)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	if f := v.FieldByName("ExtendedCode"); f.IsValid() {
		return integer(f)
	}
	return 0, false
}

func integer(v reflect.Value) (int, bool) {
	switch {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}
