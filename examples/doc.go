// Package examples holds programs that show semel at work, each in a folder of
// its own.
package examples
