package semel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mayCallStores are the folders whose code may call Claim and Update of a store,
// and why.
var mayCallStores = map[string]string{
	"memstore":             "a store",
	"sqlstore":             "a store",
	"redisstore":           "a store",
	"client":               "a store, over HTTP",
	"api":                  "the other end of that store",
	"storetest":            "drives stores through the contract",
	"storetest/internal":   "stores that break it",
	"internal/rules":       "the contract itself",
	"internal/rulestore":   "the contract as a store",
	"internal/faulty":      "passes calls on, spoilt",
	"internal/history":     "passes calls on, recorded",
	"internal/model":       "explores the contract",
	"semeltest":            "passes calls on, some of them into the void",
	"internal/integration": "tests stores",
}

// chokes are the only functions of the Keeper that call a store's Claim and
// Update: everything goes through one place each (C082).
var chokes = map[string]string{"keeper.go": "send", "undo.go": "updateOnce"}

// Only the Keeper calls Store.Claim and Store.Update. They are told from the
// Keeper's own methods by their shape: a store's Claim takes two arguments,
// its Update four.
func TestOnlyTheKeeperCallsStores(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if mayCallStores[path] != "" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, call := range storeCalls(t, path) {
			if chokes[path] == call.within {
				seen[path] = true
				continue
			}
			t.Errorf("%v: %s calls a store by itself; claims and updates go through the Keeper", call.at, call.within)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, name := range chokes {
		if !seen[path] {
			t.Errorf("%s: %s does not call the store: this test looks for the wrong shape", path, name)
		}
	}
}

type storeCall struct {
	at     token.Position
	within string
}

func storeCalls(t *testing.T, path string) (calls []storeCall) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		within := "a variable"
		if f, ok := decl.(*ast.FuncDecl); ok {
			within = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if isStoreCall(method, len(call.Args)) {
				calls = append(calls, storeCall{fset.Position(call.Pos()), within})
			}
			return true
		})
	}
	return calls
}

func isStoreCall(method *ast.SelectorExpr, args int) bool {
	return method.Sel.Name == "Claim" && args == 2 || method.Sel.Name == "Update" && args == 4
}
