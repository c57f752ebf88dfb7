package httpkey

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/sfv"
)

var keyNames = []string{"Idempotency-Key", "X-Idempotency-Key"}

// fields makes a header of alternating names and values, one line each.
func fields(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

type keyCase struct {
	title string
	h     http.Header
	p     keyPolicy
	want  string
	err   error
}

func (c keyCase) run(t *testing.T) {
	t.Helper()
	got, err := readKey(c.h, keyNames, c.p)
	if got != c.want || !errors.Is(err, c.err) {
		t.Errorf("readKey(%v) = %q, %v; want %q, %v", c.h, got, err, c.want, c.err)
	}
}

// oneKey makes a case of a single Idempotency-Key line.
func oneKey(line, want string, err error) keyCase {
	return keyCase{line, fields("Idempotency-Key", line), keyPolicy{}, want, err}
}

// C004: "No key sent: all callers get the first caller's answer"
// (aws-powertools/powertools-lambda-typescript#1501).
func TestC004AbsentKey(t *testing.T) {
	for _, c := range []keyCase{
		{"no field", fields("Host", "a"), keyPolicy{}, "", errKeyAbsent},
		{"no header", nil, keyPolicy{}, "", errKeyAbsent},
		{"no line", http.Header{"Idempotency-Key": {}}, keyPolicy{}, "", errKeyAbsent},
		oneKey("", "", errKeyMalformed),
		oneKey("  \t ", "", errKeyMalformed),
		oneKey(`""`, "", errKeyMalformed),
		oneKey(`"   "`, "", errKeyMalformed),
		oneKey(`"";p=1`, "", errKeyMalformed),
	} {
		t.Run("C004: "+c.title, c.run)
	}
}

// C028: "Is "abc" the same key as abc or ABC?" (ietf-wg-httpapi/idempotency#10).
func TestC028FormsOfAKey(t *testing.T) {
	for _, c := range []keyCase{
		oneKey(`abc`, `abc`, nil),
		oneKey(`"abc"`, `abc`, nil),
		oneKey(" \t abc \t", `abc`, nil),
		oneKey("\t\"abc\"\t", `abc`, nil),
		oneKey(`ABC`, `ABC`, nil),
		oneKey(`"a\"b"`, `a"b`, nil),
		oneKey(`a\b`, `a\b`, nil),
		oneKey(`"a\\b"`, `a\b`, nil),
		oneKey(`"abc";p=1;q="x,y"`, `abc`, nil),
		oneKey(`abc;p=1`, `abc;p=1`, nil),
		oneKey(`"a, b"`, `a, b`, nil),
		oneKey(`8e03978e-40d5-43dd-bc93-6894a57f9324`, `8e03978e-40d5-43dd-bc93-6894a57f9324`, nil),
		oneKey(`!#$%&'()*+-./:;<=>?@[\]^_{|}~`, `!#$%&'()*+-./:;<=>?@[\]^_{|}~`, nil),

		oneKey(`abc, def`, "", errKeyMultiple),
		oneKey(`abc,abc`, "", errKeyMultiple),
		oneKey(`abc,`, "", errKeyMultiple),
		oneKey(`"abc", "def"`, "", errKeyMultiple),
		oneKey(`"abc", def`, "", errKeyMultiple),
		oneKey(`abc, "def"`, "", errKeyMultiple),
		oneKey(`"abc`, "", errKeyMalformed),
		oneKey(`abc"`, "", errKeyMalformed),
		oneKey(`a"b`, "", errKeyMalformed),
		oneKey(`"a\b"`, "", errKeyMalformed),
		oneKey(`"abc" def`, "", errKeyMalformed),
		oneKey(`"abc";`, "", errKeyMalformed),
		oneKey(`a b`, "", errKeyMalformed),
		oneKey("a\tb", "", errKeyMalformed),
		oneKey("a\x00b", "", errKeyMalformed),
		oneKey("abc\r\n", "", errKeyMalformed),
		oneKey("a\x7fb", "", errKeyMalformed),
		oneKey("caf\u00e9", "", errKeyMalformed),
		oneKey("caf\xe9", "", errKeyMalformed),
		oneKey("\"caf\u00e9\"", "", errKeyMalformed),
	} {
		t.Run("C028: "+c.title, c.run)
	}
}

// C028, its part about several fields.
func TestC028SeveralFields(t *testing.T) {
	const name, alias = "Idempotency-Key", "X-Idempotency-Key"
	for _, c := range []keyCase{
		{"two lines", fields(name, "a", name, "b"), keyPolicy{}, "", errKeyMultiple},
		{"two equal lines", fields(name, "a", name, "a"), keyPolicy{}, "", errKeyMultiple},
		{"a line and an empty one", fields(name, "a", name, ""), keyPolicy{}, "", errKeyMultiple},
		{"letter case of the name", fields("iDEMPOTENCY-kEY", "a"), keyPolicy{}, "a", nil},
		{"alias alone", fields(alias, "a"), keyPolicy{}, "a", nil},
		{"letter case of the alias", fields("x-idempotency-KEY", `"a"`), keyPolicy{}, "a", nil},
		{"alias agrees", fields(name, "a", alias, `"a"`), keyPolicy{}, "a", nil},
		{"alias differs", fields(name, "a", alias, "b"), keyPolicy{}, "", errKeyMultiple},
		{"alias differs in case", fields(name, "a", alias, "A"), keyPolicy{}, "", errKeyMultiple},
		{"alias malformed", fields(name, "a", alias, "b c"), keyPolicy{}, "", errKeyMalformed},
		{"alias empty", fields(name, "a", alias, ""), keyPolicy{}, "", errKeyMalformed},
		{"two lines of the alias", fields(name, "a", alias, "a", alias, "a"), keyPolicy{}, "", errKeyMultiple},
	} {
		t.Run("C028: "+c.title, c.run)
	}
}

// C068: "Header name matched by suffix" (nats-io/nats-server#3645).
func TestC068ExactNames(t *testing.T) {
	for _, name := range []string{
		"X-Original-Idempotency-Key", "Original-Idempotency-Key", "Idempotency-Key-Old", "Idempotency_key",
		"IdempotencyKey", "X-X-Idempotency-Key", "Idempotency",
	} {
		c := keyCase{name, fields(name, "a"), keyPolicy{}, "", errKeyAbsent}
		t.Run("C068: "+c.title, c.run)
		c = keyCase{name, fields(name, "b", "Idempotency-Key", "a"), keyPolicy{}, "a", nil}
		t.Run("C068: beside "+c.title, c.run)
	}
	t.Run("C068: alias not configured", func(t *testing.T) {
		key, err := readKey(fields("X-Idempotency-Key", "a"), keyNames[:1], keyPolicy{})
		if key != "" || !errors.Is(err, errKeyAbsent) {
			t.Errorf("an alias nobody configured gave %q, %v", key, err)
		}
	})
}

// C026: "Key length counted in characters at the door and bytes in the store"
// (paveg/hono-idempotency#93).
func TestC026Length(t *testing.T) {
	for n := range 301 {
		ascii := strings.Repeat("k", n)
		want, err := ascii, error(nil)
		switch {
		case n == 0:
			err = errKeyMalformed
		case n > 255:
			want, err = "", errKeyTooLong
		}
		oneKey(ascii, want, err).run(t)
		oneKey(`"`+ascii+`"`, want, err).run(t)
		for _, letter := range []string{"ж", "😀", "\xe9", "\x00"} {
			if n > 0 {
				oneKey(strings.Repeat(letter, n), "", errKeyMalformed).run(t)
			}
		}
	}
	escaped := `"` + strings.Repeat(`\"`, 255) + `"`
	oneKey(escaped, strings.Repeat(`"`, 255), nil).run(t)
	oneKey(escaped+`;p="`+strings.Repeat("x", 999)+`"`, strings.Repeat(`"`, 255), nil).run(t)
	oneKey(`"`+strings.Repeat(`\"`, 256)+`"`, "", errKeyTooLong).run(t)
}

func TestKeyPolicy(t *testing.T) {
	pattern, err := keyPattern(`order|order-[0-9]+`)
	if err != nil {
		t.Fatal(err)
	}
	h := func(line string) http.Header { return fields("Idempotency-Key", line) }
	strict, long, form := keyPolicy{strict: true}, keyPolicy{min: 16}, keyPolicy{pattern: pattern}
	for _, c := range []keyCase{
		{"strict takes a string", h(`"abc"`), strict, "abc", nil},
		{"strict takes parameters", h(`"abc";p`), strict, "abc", nil},
		{"strict refuses a bare value", h(`abc`), strict, "", errKeyMalformed},
		{"strict refuses an empty value", h(``), strict, "", errKeyMalformed},
		{"strict still tells a list", h(`abc, def`), strict, "", errKeyMultiple},
		{"too short", h(strings.Repeat("k", 15)), long, "", errKeyMalformed},
		{"long enough", h(strings.Repeat("k", 16)), long, strings.Repeat("k", 16), nil},
		{"quotes do not lengthen", h(`"` + strings.Repeat("k", 14) + `"`), long, "", errKeyMalformed},
		{"of the form", h("order-17"), form, "order-17", nil},
		{"form met by a part", h("xorder-17"), form, "", errKeyMalformed},
		{"form met by a beginning", h("order-17x"), form, "", errKeyMalformed},
	} {
		t.Run(c.title, c.run)
	}
	for _, expr := range []string{`(`, `a)|(b`} {
		if _, err := keyPattern(expr); err == nil {
			t.Errorf("keyPattern(%q) gave no error", expr)
		}
	}
}

func TestKeyErrorsKeepTheSecret(t *testing.T) {
	const secret = "s3cr3t"
	for _, line := range []string{secret + " x", `"` + secret, secret + ",x", strings.Repeat(secret, 99), `"` + secret + `",`} {
		_, err := readKey(fields("Idempotency-Key", line), keyNames, keyPolicy{})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("readKey(%q): error %v", line, err)
		}
	}
}

func FuzzReadKey(f *testing.F) {
	for _, seed := range []string{"abc", `"abc"`, `"a\"b";p=1`, "a,b", `"a","b"`, "", " ", "a b", "\"\u00e9\""} {
		f.Add(seed, seed, false)
		f.Add(seed, "abc", true)
	}
	known := []error{errKeyAbsent, errKeyMalformed, errKeyMultiple, errKeyTooLong}
	f.Fuzz(func(t *testing.T, line, alias string, strict bool) {
		p := keyPolicy{strict: strict}
		key, err := readKey(fields(keyNames[0], line, keyNames[1], alias), keyNames, p)
		if err != nil {
			matches := 0
			for _, k := range known {
				if errors.Is(err, k) {
					matches++
				}
			}
			if matches != 1 || key != "" {
				t.Fatalf("%q, %q: key %q beside %v", line, alias, key, err)
			}
			return
		}
		if len(key) == 0 || len(key) > maxKeyBytes {
			t.Fatalf("%q: a key of %d bytes", line, len(key))
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := readKey(fields(keyNames[0], quoted), keyNames, p); again != key || err != nil {
			t.Fatalf("%q gave %q, and that, quoted, %q, %v", line, key, again, err)
		}
		for _, value := range []string{line, alias} {
			value = strings.Trim(value, " \t")
			if item, err := sfv.ParseString(value); value != key && (err != nil || item != key) {
				t.Fatalf("%q gave %q, which it does not say", value, key)
			}
		}
	})
}

func BenchmarkReadKey(b *testing.B) {
	const uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324"
	for name, line := range map[string]string{"bare": uuid, "quoted": `"` + uuid + `"`, "escaped": `"\"` + uuid + `"`} {
		h := fields("Idempotency-Key", line, "Host", "a", "Accept", "*/*")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readKey(h, keyNames, keyPolicy{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
