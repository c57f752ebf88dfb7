// Package oracle holds semel's own small parsers against well-known libraries
// that read the same formats: on every input, both must say the same.
package oracle
