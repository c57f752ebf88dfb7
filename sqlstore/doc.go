// Package sqlstore keeps claims in an SQL database.
package sqlstore
