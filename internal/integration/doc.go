// Package integration holds the tests that need other people's code: drivers,
// oracles, judges. Nothing imports it; it exists so that the root module can
// require nothing.
package integration
