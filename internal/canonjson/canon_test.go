package canonjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : 1 , "a" : [ 2 , { "d" : 3 , "c" : 4 } ] } `: `{"a":[2,{"c":4,"d":3}],"b":1}`,
		`{"b":{"d":1,"c":2},"a":{"f":3,"e":4}}`:               `{"a":{"e":4,"f":3},"b":{"c":2,"d":1}}`,
		`{"a":{"f":3,"e":4},"b":{"c":2,"d":1}}`:               `{"a":{"e":4,"f":3},"b":{"c":2,"d":1}}`,
		`[{"b":1,"a":2},{},{"b":{"z":[{"y":1,"x":2}]},"a":3}]`: `[{"a":2,"b":1},{},` +
			`{"a":3,"b":{"z":[{"x":2,"y":1}]}}]`,
		`{"a":1,"ab":2,"":3}`:             `{"":3,"a":1,"ab":2}`,
		`[3,1,2]`:                         `[3,1,2]`,
		`[1,1.0,1e0,1E+0,-0,0.10]`:        `[1,1.0,1e0,1E+0,-0,0.10]`,
		`[9007199254740993,1e400]`:        `[9007199254740993,1e400]`,
		`"\u0041\/\u00e9\ud83d\ude00"`:    `"A/é😀"`,
		`"\u0022\u005C\u005c"`:            `"\"\\\\"`,
		`"\u000a\n\u0008\f\r\t\u001F"`:    `"\n\n\b\f\r\t\u001f"`,
		"\"\x7f\u2028\ufffd\"":            "\"\x7f\u2028\ufffd\"",
		`{"\u0062":1,"\u0061":2}`:         `{"a":2,"b":1}`,
		"\t\r\n true \n":                  `true`,
		`false`:                           `false`,
		`null`:                            `null`,
		`""`:                              `""`,
		`{}`:                              `{}`,
		`[ ]`:                             `[]`,
		nested(MaxDepth, "[", "", "]"):    nested(MaxDepth, "[", "", "]"),
		nested(99, `{"a":[`, "", "]}"):    nested(99, `{"a":[`, "", "]}"),
		`{"b":1,"a":` + nestedAB(9) + `}`: `{"a":` + nestedBA(9) + `,"b":1}`,
	} {
		got, ok := Append([]byte("x"), []byte(text))
		if !ok || string(got) != "x"+want {
			t.Errorf("Append(x, %s) = %s, %v; want x%s", text, got, ok, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{"a"`, `{"a":`, `{"a":1`,
		`{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{1:2}`, `{"a":1 "b":2}`, `{"a":1]`, `[1}`,
		`tru`, `TRUE`, `truefalse`, `nul`, `undefined`, `NaN`, `Infinity`, `// c`, `/* c */1`,
		`01`, `-01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `1e-`, `0x1`, `1_0`, `--1`, `- 1`, `1e1.5`,
		`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u123g"`, `"\U0041"`, `'a'`, "\"\n\"", "\"\x00\"", "\"\x1f\"",
		`"\u 041"`, `"\u+041"`, `"\u00@1"`,
		"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
		`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`, `"\ud800x"`, `"\udc00\ud800"`, `"\ud800\`,
		"\ufeff{}", `{} {}`, `{}x`, `1 2`, "1\x00", "\v1", "\u00a01",
		`{"a":1,"a":1}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, `{"\n":1,"\u000A":2}`, `{"":1,"":2}`,
		`[{"x":{"a":1,"a":2}}]`, `{"b":{"a":1,"a":2},"a":0}`, `{"b":1,"a":1,"b":{"d":1,"c":2}}`,
		nested(MaxDepth+1, "[", "", "]"), nested(MaxDepth+1, `{"a":`, "1", "}"),
	} {
		if got, ok := Append(nil, []byte(text)); ok {
			t.Errorf("Append(%.60q) = %.60q, want it refused", text, got)
		}
	}
}

// C010: "Odd JSON: duplicate names, invalid UTF-8, 1.0 against 1"
// (pineforge-4pass/pineforge-engine#135): no text may take time that is out of
// proportion to its length. Each of these would take minutes if it did, far
// beyond the limit of any test run.
func TestC010HugeTexts(t *testing.T) {
	const n = 100_000
	var reversed strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&reversed, `"%07d":{"b":[],"a":{}},`, i)
	}
	members := strings.TrimSuffix(reversed.String(), ",")
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"100 000 nested arrays":      {nested(n, "[", "", "]"), false},
		"100 000 nested objects":     {nested(n, `{"a":`, "1", "}"), false},
		"100 000 open arrays":        {strings.Repeat("[", n), false},
		"100 000 members":            {"{" + members + "}", true},
		"100 000 members, one twice": {"{" + members + `,"0000007":1}`, false},
		"long value moved 199 times": {nested(199, `{"b":`, `"`+long+`"`, `,"a":1}`), true},
	} {
		got, ok := Append(nil, []byte(c.text))
		if ok != c.ok || ok && len(got) != len(c.text) {
			t.Errorf("%s: ok %v, %d bytes of %d", name, ok, len(got), len(c.text))
		}
	}
}

func TestAllocations(t *testing.T) {
	text := sample(200)
	dst := make([]byte, 0, len(text))
	if n := testing.AllocsPerRun(100, func() { Append(dst, text) }); n > 2 {
		t.Errorf("%v allocations for %d bytes, want 2 at most", n, len(text))
	}
}

func FuzzAppend(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[2,{"d":3,"c":4}]}`, `[1,1.0,1e0,-0]`, `"\u0041\/\ud83d\ude00\n"`, `{"a":1,"\u0061":2}`,
		`"\ud800"`, "\ufeff{}", ` [ true , false , null ] `, `{"b":{"d":{},"c":[]},"a":{"f":{"h":1,"g":2},"e":4}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		canon, ok := Append(nil, text)
		if !ok {
			return
		}
		if len(canon) > len(text) {
			t.Fatalf("%q grew to %q", text, canon)
		}
		if again, ok := Append(nil, canon); !ok || !bytes.Equal(again, canon) {
			t.Fatalf("%q has the form %q, and that the form %q, %v", text, canon, again, ok)
		}
		if want, got := decode(t, text), decode(t, canon); want != got {
			t.Fatalf("%q says %s, its form %q says %s", text, want, canon, got)
		}
	})
}

// decode spells out what a text says, with numbers as written.
func decode(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("encoding/json does not read %q: %v", text, err)
	}
	return fmt.Sprintf("%#v", v)
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 2000} {
		text := sample(size)
		dst := make([]byte, 0, len(text))
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Append(dst, text)
			}
		})
	}
}

// sample makes an order of about size bytes, its members out of order.
func sample(size int) []byte {
	const item = `{"sku":"A-1023","quantity":2,"price":{"currency":"EUR","amount":"19.90"}}`
	text := `{"order":"ord_4711","customer":{"name":"Zoë","id":81},"items":[` + item
	for len(text)+len(item) < size {
		text += "," + item
	}
	return []byte(text + `],"note":null,"express":true}`)
}

func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func nestedAB(n int) string { return nested(n, `{"b":`, "0", `,"a":1}`) }
func nestedBA(n int) string { return nested(n, `{"a":1,"b":`, "0", `}`) }
