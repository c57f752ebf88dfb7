package main

import (
	"encoding/json"
	"fmt"
)

// print writes v as JSON if that was asked for, else the text.
func (a *app) print(v any, format string, args ...any) error {
	if !a.json {
		_, err := fmt.Fprintf(a.out, format, args...)
		return err
	}
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
