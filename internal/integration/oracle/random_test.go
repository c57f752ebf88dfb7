package oracle

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/semel-dev/semel/internal/canonjson"
	"github.com/semel-dev/semel/internal/sfv"
)

// pieces are what random texts are made of: most are sound or nearly so, which
// random bytes never are.
var (
	jsonPieces = []string{
		"{", "}", "[", "]", ":", ",", " ", "\n", `"a"`, `"b"`, `"\u0061"`, `"é"`, `"\u00e9"`, `"\ud83d\ude00"`, `"😀"`, `"\ud83d"`, "\"\xff\"", `"\/"`, `"/"`,
		`"a":`, `"b":`, `"\u0061":`, `{"a":1}`, `{"b":[1,2],"a":{}}`, "[]", "{}", "1", "1.0", "1e0", "-0", "01", "9007199254740993", "true", "null", "\ufeff", `"\u000a"`, `"\n"`,
	}
	fieldPieces = []string{
		`"`, `"a"`, `"a b"`, `\"`, `\\`, `\`, ";", "; ", "a", "*b", "=", "=1", "=-1.5", "=1234567890123456", "=1.2345", "=?1", "=?2", "=tok/en:x", `="s"`, "=:YWJj:", "=:YWJj", "=@1700000000",
		"=@1.5", `=%"caf%c3%a9"`, `=%"%ff"`, `=%"%C3"`, " ", "\t", ",", "\x7f", "é", "(", ")",
	}
)

// compose makes a text of up to n pieces; every other one is a sound text with
// one piece put in, taken out or doubled.
func compose(rng *rand.Rand, pieces, sound []string, n int) []byte {
	var text []byte
	if rng.IntN(2) == 0 {
		text = append(text, sound[rng.IntN(len(sound))]...)
		at := rng.IntN(len(text) + 1)
		end := min(len(text), at+rng.IntN(3))
		return append(append(bytes.Clone(text[:at]), pieces[rng.IntN(len(pieces))]...), text[end:]...)
	}
	for range 1 + rng.IntN(n) {
		text = append(text, pieces[rng.IntN(len(pieces))]...)
	}
	return text
}

// Two texts have one canonical form exactly if jsontext sees no difference.
func TestRandomJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sound := []string{
		`{"b":{"d":[1,{"f":2,"e":3}],"c":null},"a":"\u00e9"}`, `{"a":"é","b":{"c":null,"d":[1,{"e":3,"f":2}]}}`, `[{"a":1,"b":2},{"b":2,"a":1}]`, `{"a":{"b":{"a":{"b":1}}}}`,
	}
	ours, theirs := make(map[string]string), make(map[string]string)
	taken := 0
	for range 50_000 {
		text := compose(rng, jsonPieces, sound, 6)
		own, ok := check(t, text)
		if !ok {
			continue
		}
		taken++
		of := string(format(t, text))
		if other, seen := ours[string(own)]; seen && other != of {
			t.Fatalf("%q and %q have the form %q, though they differ", of, other, own)
		}
		if other, seen := theirs[of]; seen && other != string(own) {
			t.Fatalf("%q has the forms %q and %q", of, own, other)
		}
		ours[string(own)], theirs[of] = of, string(own)
	}
	if taken < 5000 || len(ours) < 300 || taken < 2*len(ours) {
		t.Errorf("%d texts in %d forms are too few to say anything", taken, len(ours))
	}
}

func TestRandomStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sound := []string{`"abc"`, `"a\"b";p`, `"";a=1;b=?0;c="x,y"`, `"x";a=:YWJj:;b=@-5;c=%"%c3%a9"`, `"x";p=1.5;q=tok`}
	taken := 0
	for range 50_000 {
		field := string(compose(rng, fieldPieces, sound, 6))
		want, ok := oracleString(field)
		got, err := sfv.ParseString(field)
		if ok != (err == nil) || got != want {
			t.Fatalf("%q: %q, %v; httpsfv: %q, %v", field, got, err, want, ok)
		}
		if ok {
			taken++
		}
	}
	if taken < 2000 {
		t.Errorf("%d of the fields are strings: too few to say anything", taken)
	}
}

// What depends on the depth is out of reach of random texts.
func TestDepthIsTheOnlyOtherLimit(t *testing.T) {
	for depth := canonjson.MaxDepth - 1; depth <= canonjson.MaxDepth+1; depth++ {
		check(t, append(bytes.Repeat([]byte("["), depth), bytes.Repeat([]byte("]"), depth)...))
	}
}
