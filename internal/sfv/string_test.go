package sfv

import (
	"errors"
	"strings"
	"testing"
)

func TestParseString(t *testing.T) {
	for _, c := range []struct {
		field, want string
		err         error
	}{
		{`"abc"`, `abc`, nil},
		{`  "abc"  `, `abc`, nil},
		{`""`, ``, nil},
		{`"a\"b\\c"`, `a"b\c`, nil},
		{`"\\\\"`, `\\`, nil},
		{`"a, b"`, `a, b`, nil},
		{`"a;b=c"`, `a;b=c`, nil},
		{`" !~"`, ` !~`, nil},

		{``, ``, ErrSyntax},
		{`   `, ``, ErrSyntax},
		{`"`, ``, ErrSyntax},
		{`"abc`, ``, ErrSyntax},
		{`"abc\"`, ``, ErrSyntax},
		{`"abc\`, ``, ErrSyntax},
		{`"a\b"`, ``, ErrSyntax},
		{`abc`, ``, ErrSyntax},
		{`"abc"d`, ``, ErrSyntax},
		{`"abc" d`, ``, ErrSyntax},
		{`"abc""d"`, ``, ErrSyntax},
		{"\t\"abc\"", ``, ErrSyntax},
		{"\"abc\"\t", ``, ErrSyntax},
		{"\"a\tb\"", ``, ErrSyntax},
		{"\"a\x00b\"", ``, ErrSyntax},
		{"\"a\x7fb\"", ``, ErrSyntax},
		{"\"a\\\x00\"", ``, ErrSyntax},
		{"\"abc\"\x00", ``, ErrSyntax},
		{`"é"`, ``, ErrSyntax},
		{`'abc'`, ``, ErrSyntax},
		{`("abc")`, ``, ErrSyntax},

		{`"a","b"`, ``, ErrList},
		{`"a", "b"`, ``, ErrList},
		{"\"a\" \t, b", ``, ErrList},
		{`"a";p=1, "b"`, ``, ErrList},
		{`"a",`, ``, ErrList},
		{`, "a"`, ``, ErrSyntax},
	} {
		got, err := ParseString(c.field)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParseString(%q) = %q, %v; want %q, %v", c.field, got, err, c.want, c.err)
		}
	}
}

func TestParameters(t *testing.T) {
	for params, ok := range map[string]bool{
		`;a`:                  true,
		`;a;b;*c`:             true,
		`; a`:                 true,
		`;a-b_c.d*9=1`:        true,
		`;a=1`:                true,
		`;a=-123456789012345`: true,
		`;a=1.5`:              true,
		`;a=123456789012.123`: true,
		`;a="x\"y"`:           true,
		`;a=tok/en:*`:         true,
		`;a=*`:                true,
		`;a=?0;b=?1`:          true,
		`;a=@1700000000`:      true,
		`;a=@-1`:              true,
		`;a=:aGk=:`:           true,
		`;a=::`:               true,
		`;a=%"caf%c3%a9"`:     true,
		`;a=%""`:              true,
		`;a=1;a=2`:            true,

		`;`:                     false,
		`; `:                    false,
		` ;a`:                   false,
		`;A`:                    false,
		`;9a`:                   false,
		`;a=`:                   false,
		`;a= 1`:                 false,
		`;a =1`:                 false,
		`;a=-`:                  false,
		`;a=1.`:                 false,
		`;a=.5`:                 false,
		`;a=1234567890123456`:   false,
		`;a=1234567890123.1`:    false,
		`;a=1.1234`:             false,
		`;a=?2`:                 false,
		`;a=?`:                  false,
		`;a=@1.5`:               false,
		`;a=@`:                  false,
		`;a=:aGk:`:              false,
		`;a=:aG=k:`:             false,
		`;a=:====:`:             false,
		`;a=:aGk=`:              false,
		`;a=%"%C3%A9"`:          false,
		`;a=%"%c3"`:             false,
		`;a=%"%c`:               false,
		`;a=%x`:                 false,
		`;a=%"x`:                false,
		`;a="x`:                 false,
		`;a=(1)`:                false,
		`;a=1 b`:                false,
		";a=%\"\x7f\"":          false,
		`;a=1` + "\x00":         false,
		strings.Repeat(";", 99): false,
	} {
		got, err := ParseString(`"k"` + params)
		if ok && (err != nil || got != "k") || !ok && !errors.Is(err, ErrSyntax) {
			t.Errorf("ParseString(\"k\" + %q) = %q, %v; want ok %v", params, got, err, ok)
		}
	}
}

func FuzzParseString(f *testing.F) {
	for _, seed := range []string{
		`"abc"`, `"a\"b\\c"`, `"abc`, `"a", "b"`, ` "a";p=1.5;q=:aGk=:;r=%"%c3%a9";s=?1;t=@1 `, `""`, `abc`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		value, err := ParseString(field)
		if err != nil {
			if value != "" {
				t.Fatalf("a value %q beside the error %v", value, err)
			}
			return
		}
		again, err := ParseString(quote(value))
		if err != nil || again != value {
			t.Fatalf("%q was read as %q, and that, quoted, as %q, %v", field, value, again, err)
		}
	})
}

// quote writes s as a String.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
