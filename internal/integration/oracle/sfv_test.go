package oracle

import (
	"errors"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/semel-dev/semel/internal/sfv"
)

// FuzzStructuredString compares sfv with httpsfv: the same fields are String
// items, with the same value, and a field said to be a list begins like one.
func FuzzStructuredString(f *testing.F) {
	for _, seed := range []string{
		`"abc"`, ` "a\"b\\c" `, `"abc`, `abc`, `""`, `"a", "b"`, `"a" , b`, `"a",`, `"é"`,
		`"a";b;c=1;d=-1.5;e="x";f=t/k:*`, `"a";b=?1;c=@170;d=:aGk=:;e=%"caf%c3%a9"`, `"a"; b=1`, `"a" ;b`,
		`"a";b=:aGk:`, `"a";b=:aG=k:`, `"a";b=%"%c3"`, `"a";b=123456789012345.1`, `"a";b=123456789012.1234`, `"a";b=@1.0`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		got, err := sfv.ParseString(field)
		want, ok := oracleString(field)
		if ok != (err == nil) || got != want {
			t.Fatalf("ParseString(%q) = %q, %v; httpsfv: %q, %v", field, got, err, want, ok)
		}
		list, listErr := httpsfv.UnmarshalList([]string{field})
		if listErr == nil && len(list) > 1 && isString(list[0]) && !errors.Is(err, sfv.ErrList) {
			t.Fatalf("ParseString(%q) = %v for a list", field, err)
		}
		if listErr == nil && len(list) < 2 && errors.Is(err, sfv.ErrList) {
			t.Fatalf("ParseString(%q) = %v for one member", field, err)
		}
	})
}

// oracleString is what ParseString ought to say.
func oracleString(field string) (string, bool) {
	item, err := httpsfv.UnmarshalItem([]string{field})
	if err != nil {
		return "", false
	}
	value, ok := item.Value.(string)
	return value, ok
}

func isString(m httpsfv.Member) bool {
	item, ok := m.(httpsfv.Item)
	if !ok {
		return false
	}
	_, ok = item.Value.(string)
	return ok
}
