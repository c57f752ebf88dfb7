package semel_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/compilefail"
)

// Misuse that must not build.
func TestMisuse(t *testing.T) { compilefail.Run(t, "testdata/misuse/*.go") }
