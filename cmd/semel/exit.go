package main

import (
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

// The exit codes, the same for every command. Those above 63 are sysexits.h's.
const (
	exitOK          = 0
	exitFindings    = 1  // the command ran, and what it found is not in order
	exitUsage       = 64 // the command line is wrong
	exitData        = 65 // the input is wrong: a file, a key, a settlement that is refused
	exitNotFound    = 66 // the store knows nothing of the key
	exitUnavailable = 69 // the store or the upstream does not answer
	exitTempFail    = 75 // somebody else holds the key: try again
	exitConfig      = 78 // the configuration is wrong
)

// exitError is an error with the exit code that it ends the process with. Its
// err may be nil: everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

func (e *exitError) Unwrap() error { return e.err }

// usageError is a mistake on the command line.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// storeError gives an error of the store or the Keeper its exit code.
func storeError(err error) error {
	code := exitUnavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, semel.ErrNotFound):
		code = exitNotFound
	case errors.Is(err, semel.ErrBusy), errors.Is(err, semel.ErrInDoubt):
		code = exitTempFail
	case errors.Is(err, semel.ErrInvalid), errors.Is(err, semel.ErrMismatch):
		code = exitData
	}
	return &exitError{code, err}
}
