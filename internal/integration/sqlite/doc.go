// Package sqlite runs the SQLite store on real drivers.
package sqlite
