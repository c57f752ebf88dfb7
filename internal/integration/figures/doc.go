// Package figures measures semel against what a user would have without it, in
// turns within one run. A ratio is the lower median of its rounds; the floor
// against itself says how far the machine can be believed.
package figures
