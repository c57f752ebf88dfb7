package sqlstore

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// The three shapes in which drivers report an error.
type (
	coder    struct{ code int }
	extended struct{ code uint16 }
	fields   struct {
		Code         int
		ExtendedCode int
		text         string
	}
	own  uint16
	bare uint16
)

func (e *coder) Error() string {
	return fmt.Sprintf("constraint failed: UNIQUE constraint failed: t.a, t.b (%d)", e.code)
}
func (e *coder) Code() int { return e.code }
func (e *extended) Error() string {
	return "sqlite3: constraint failed: UNIQUE constraint failed: t.a, t.b"
}
func (e *extended) ExtendedCode() own { return own(e.code) }
func (e bare) Error() string          { return "sqlite3: database is locked" }
func (e bare) Code() own              { return own(e & 0xff) }
func (e fields) Error() string        { return e.text }

func TestIsDuplicate(t *testing.T) {
	failed := "UNIQUE constraint failed: "
	for _, c := range []struct {
		err        error
		constraint string
		want       bool
	}{
		{&coder{sqliteUnique}, "t.a, t.b", true},
		{&coder{sqlitePrimaryKey}, "T.A,t.b", true},
		{&extended{sqliteUnique}, "t.a, t.b", true},
		{fields{19, sqliteUnique, failed + "t.a, t.b"}, "t.a, t.b", true},
		{&fields{19, sqliteRowID, failed + "t.a, t.b"}, "t.a, t.b", true},
		{fields{19, sqliteUnique, failed + "index 'e'"}, "e", true},
		{fmt.Errorf("saving: %w", &coder{sqliteUnique}), "t.a, t.b", true},
		{errors.Join(errors.New("first"), &extended{sqliteUnique}), "t.a, t.b", true},

		{&coder{sqliteUnique}, "t.a", false},
		{&coder{sqliteUnique}, "t.b, t.a", false},
		{&coder{sqliteUnique}, "t.a, t.b, t.c", false},
		{&coder{19}, "t.a, t.b", false},
		{&coder{19 | 5<<8}, "t.a, t.b", false}, // NOT NULL
		{fields{19, sqliteUnique, failed + "index 'e'"}, "ee", false},
		{fields{19, sqliteUnique, failed + "index 'e'"}, "t.e", false},
		{errors.New(failed + "t.a, t.b"), "t.a, t.b", false},
		{fmt.Errorf("saving %q: %w", failed+"t.x", &coder{sqliteUnique}), "t.x", false},
		{nil, "t.a, t.b", false},
	} {
		if got := IsDuplicate(c.err, c.constraint); got != c.want {
			t.Errorf("IsDuplicate(%v, %q) is %v, want %v", c.err, c.constraint, got, c.want)
		}
	}
}

func TestContentionIsKnownByCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fault
	}{
		{&coder{5}, faultBusy},
		{&coder{5 | 3<<8}, faultBusy},
		{&coder{6}, faultBusy},
		{&coder{5 | 2<<8}, faultStale},
		{&extended{5}, faultBusy},
		{bare(5), faultBusy},
		{bare(517), faultStale},
		{syscall.EIO, faultOther}, // 5, too
		{fields{5, 517, ""}, faultStale},
		{&coder{10}, faultOther},
		{&coder{sqliteUnique}, faultOther},
		{errors.New("database is locked"), faultOther},
	} {
		if got := sqliteFault(c.err); got != c.want {
			t.Errorf("the fault of %v is %v, want %v", c.err, got, c.want)
		}
	}
}
