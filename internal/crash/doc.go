// Package crash names the points at which a test may kill the process. In a
// binary built without the tag crashpoints it does nothing.
package crash
