// Package httpkey guards HTTP requests by their Idempotency-Key.
package httpkey
