// Package semel answers one question, safely and concurrently: has this unit
// of work already been processed?
package semel
