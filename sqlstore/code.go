package sqlstore

import "reflect"

// resultCode finds SQLite's result code, extended where the driver has it, in
// err's tree.
func resultCode(err error) (int, bool) {
	_, code, ok := coded(err)
	return code, ok
}

// coded finds the driver's own error in err's tree, and its code. No driver is
// imported, and none of them shares a type with another: one has a method Code
// that returns an int, one a method ExtendedCode that returns a type of its
// own (and is the bare extended code where there is no text), one a field
// ExtendedCode.
func coded(err error) (error, int, bool) {
	for err != nil {
		if code, ok := codeOf(err); ok {
			return err, code, true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range x.Unwrap() {
				if own, code, ok := coded(e); ok {
					return own, code, true
				}
			}
			return nil, 0, false
		default:
			return nil, 0, false
		}
	}
	return nil, 0, false
}

func codeOf(err error) (int, bool) {
	if e, ok := err.(interface{ Code() int }); ok {
		return e.Code(), true
	}
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return 0, false
	}
	// A constant name, so that the linker still drops unused methods.
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
