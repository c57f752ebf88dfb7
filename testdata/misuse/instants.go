// Only the store's clock counts: nothing that is asked for takes an instant.
package misuse

import (
	"time"

	"github.com/semel-dev/semel"
)

var (
	until = time.Now().Add(time.Hour)
	_     = semel.Options{Window: until}       // ERROR "cannot use until"
	_     = semel.ClaimOptions{Lease: until}   // ERROR "cannot use until"
	_     = semel.ReleaseOptions{After: until} // ERROR "cannot use until"
	_     = semel.Request{Lease: until}        // ERROR "cannot use until"
	_     = semel.Request{Until: until}        // ERROR "unknown field Until"
	_     = semel.Change{For: until}           // ERROR "cannot use until"
	_     = semel.Change{Until: until}         // ERROR "unknown field Until"
	_     = semel.Options{Window: time.Until(until)}
)
