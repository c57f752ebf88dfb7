package oracle

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/semel-dev/semel/internal/canonjson"
)

var jsonSeeds = []string{
	`{"b":1,"a":[2,{"d":3,"c":4}]}`, ` { "a" : [ 2 , { "c":4 , "d":3 } ] , "b" : 1 } `,
	`[1,1.0,1e0,1E+0,-0,0.10,1e400]`, `[9007199254740992]`, `[9007199254740993]`,
	`"\u0041\/\u00e9\ud83d\ude00\u0000\u001f\n"`, "\"A/é😀\\u0000\\u001F\\u000a\"", "\"\x7f\u2028\ufffd\"",
	`{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":2}}`, `"\ud800"`, `"\ud800\u0041"`, "\"\xff\"", "\ufeff{}", `{} {}`,
	`[true,false,null,{},[]]`, `01`, `1.`, `-`, `[1,]`, `{"a":1,}`, ``,
	strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 201) + strings.Repeat("]", 201),
	`{"é":1,"z":2,"😀":3,"\uffff":4}`,
}

// FuzzCanonicalJSON compares canonjson with jsontext. Both take the same
// texts. The form of each is one the other sees no difference in; so two texts
// have one form for the one exactly if they have one for the other, though a
// fuzzer would hardly ever find two such texts.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		own, ok := check(t, text)
		if !ok {
			return
		}
		theirs := format(t, text)
		if of := format(t, own); !bytes.Equal(of, theirs) {
			t.Fatalf("jsontext makes %q of %q, and %q of its form %q", theirs, text, of, own)
		}
		if of, _ := check(t, theirs); !bytes.Equal(of, own) {
			t.Fatalf("%q has the form %q, but what jsontext makes of it the form %q", text, own, of)
		}
	})
}

// check returns the canonical form of text, if it has one, after asking
// jsontext whether it should.
func check(t *testing.T, text []byte) ([]byte, bool) {
	t.Helper()
	own, ok := canonjson.Append(nil, text)
	depth, err := read(text)
	if want := err == nil && depth <= canonjson.MaxDepth; ok != want {
		t.Fatalf("Append(%q) = %v; jsontext: depth %d, %v", text, ok, depth, err)
	}
	return own, ok
}

// read reads text as one strict value and returns how deep it is nested.
func read(text []byte) (depth int, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for tokens := 0; ; tokens++ {
		_, err := d.ReadToken()
		depth = max(depth, d.StackDepth())
		switch {
		case errors.Is(err, io.EOF) && tokens > 0:
			return depth, nil
		case err != nil:
			return depth, err
		case d.StackDepth() == 0 && len(bytes.TrimLeft(text[d.InputOffset():], " \t\r\n")) > 0:
			return depth, errors.New("more than one value")
		}
	}
}

// format gives text the form that jsontext finds for it, numbers as written.
func format(t *testing.T, text []byte) []byte {
	t.Helper()
	v := jsontext.Value(bytes.Clone(text))
	err := v.Format(
		jsontext.ReorderRawObjects(true),
		jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false),
		jsontext.SpaceAfterColon(false),
		jsontext.SpaceAfterComma(false),
	)
	if err != nil {
		t.Fatalf("jsontext does not format %q: %v", text, err)
	}
	return v
}
