package sqlstore

import (
	"strconv"
	"strings"
)

// IsDuplicate reports whether err, of any SQLite driver and however wrapped,
// says that exactly this unique constraint was violated. SQLite names a
// constraint by its columns, as in "orders.tenant, orders.number", in the order
// of the constraint; an index on expressions by the index's name.
//
// SQLite reports the kind of violation by code but the constraint only in the
// text beside it. That text has one form in every version and language. It is
// taken from the driver's own error, after the code has matched, and compared
// as a whole.
func IsDuplicate(err error, constraint string) bool {
	own := findResult(err)
	if own == nil || (own.code != sqliteUnique && own.code != sqlitePrimaryKey && own.code != sqliteRowID) {
		return false
	}
	_, text, ok := strings.Cut(own.Error(), "UNIQUE constraint failed: ")
	if !ok {
		return false
	}
	text = strings.TrimSuffix(text, " ("+strconv.Itoa(own.code)+")") // one driver's habit
	if name, ok := strings.CutPrefix(text, "index '"); ok {
		return strings.EqualFold(name, constraint+"'")
	}
	return strings.EqualFold(text, columnList(constraint))
}

// columnList returns a list such as "t.a,t.b" as SQLite writes it.
func columnList(constraint string) string {
	list := strings.Split(constraint, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return strings.Join(list, ", ")
}

// SQLite's result codes of a violated unique constraint.
const (
	sqlitePrimaryKey = 19 | 6<<8
	sqliteUnique     = 19 | 8<<8
	sqliteRowID      = 19 | 10<<8
)
