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
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", escapeJSON(out))
	return err
}
