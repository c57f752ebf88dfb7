// Package repo holds the rules of this repository as tests: what the modules
// may depend on, what they export and how it is documented, what a text may
// say, and that a release can be built from what is here. It has no code.
//
// The tests read the tree themselves, and do not ask git or go list, so that
// the test cache knows every file they depend on.
package repo
