package sqlstore_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// Only what can be committed and rolled back is a transaction. A claim on a
// database handle would stand when its effect is rolled back.
func TestSQLRefusesWhatIsNoTransaction(t *testing.T) {
	for _, c := range []struct {
		arg string
		ok  bool
	}{
		{"*sql.Tx", true},
		{"struct{ *sql.Tx }", true},
		{"*sql.DB", false},
		{"*sql.Conn", false},
		{"*sql.Stmt", false},
		{"sqlstore.Tx", false},
	} {
		err := typeCheck(t, `package p
import ("database/sql"; "github.com/semel-dev/semel/sqlstore")
var _ *sql.DB
func f(tx `+c.arg+`) sqlstore.Tx { return sqlstore.SQL(tx) }`)
		if (err == nil) != c.ok {
			t.Errorf("SQL(%s) compiles is %v, want %v (%v)", c.arg, err == nil, c.ok, err)
		}
	}
}

// A Tx comes from SQL and from nowhere else.
func TestTxIsOpaque(t *testing.T) {
	err := typeCheck(t, `package p
import ("database/sql"; "github.com/semel-dev/semel/sqlstore")
func f(db *sql.DB) sqlstore.Tx { return sqlstore.Tx{db} }`)
	if err == nil {
		t.Error("a Tx can be made of a *sql.DB")
	}
}

var (
	fset    = token.NewFileSet()
	sources = importer.ForCompiler(fset, "source", nil)
)

func typeCheck(t *testing.T, src string) error {
	t.Helper()
	file, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: sources}
	_, err = conf.Check("p", fset, []*ast.File{file}, nil)
	return err
}
