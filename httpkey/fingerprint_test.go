package httpkey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// probe is one request to be fingerprinted; zero stands for an ordinary one.
type probe struct {
	method, target, contentType, body string
	header                            []string // alternating names and values
	selected                          []string
}

// print returns the fingerprint of p.
func (p probe) print() []byte {
	or := func(s, fallback string) string {
		if s == "" {
			return fallback
		}
		return s
	}
	r := httptest.NewRequestWithContext(context.Background(), or(p.method, "POST"), or(p.target, "/orders?a=1&b=2"), nil)
	r.Header = fields(p.header...)
	if ct := or(p.contentType, "application/json"); ct != "none" {
		r.Header.Set("Content-Type", ct)
	}
	return fingerprint(r, p.selected, []byte(or(p.body, `{"a":1}`)))
}

// checkDiffers holds same and differs to one verdict, both ways round.
func checkDiffers(t *testing.T, a, b []byte, want string) {
	t.Helper()
	for range 2 {
		if got := same(a, b); got != (want == "") {
			t.Errorf("same = %v, want %v", got, want == "")
		}
		if got := differs(a, b); got != want {
			t.Errorf("differs = %q, want %q", got, want)
		}
		a, b = b, a
	}
}

// jsonPair is two JSON bodies that are the same request or are not.
type jsonPair struct {
	title, a, b string
	same        bool
}

func (c jsonPair) run(t *testing.T) {
	want := "body"
	if c.same {
		want = ""
	}
	checkDiffers(t, probe{body: c.a}.print(), probe{body: c.b}.print(), want)
	ld := "application/ld+json"
	checkDiffers(t, probe{body: c.a, contentType: ld}.print(), probe{body: c.b, contentType: ld}.print(), want)
	// Nothing but JSON may be read as JSON.
	text := "text/plain"
	checkDiffers(t, probe{body: c.a, contentType: text}.print(), probe{body: c.b, contentType: text}.print(), "body")
}

// C006: "Same JSON, other key order → seen as a new request or a mismatch"
// (aws-powertools/powertools-lambda-python#638).
func TestC006KeyOrder(t *testing.T) {
	for _, c := range []jsonPair{
		{"members and blanks", `{"a":1,"b":{"c":2,"d":3}}`, ` {"b": {"d":3 ,"c":2},` + "\n" + `"a":1} `, true},
		{"objects in an array", `[{"a":1,"b":2},{"c":3,"d":4}]`, `[{"b":2,"a":1},{"d":4,"c":3}]`, true},
		{"escapes", `{"caf\u00e9":"a\/b"}`, `{"café":"a/b"}`, true},
		{"array reordered", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"objects of an array reordered", `[{"a":1},{"b":2}]`, `[{"b":2},{"a":1}]`, false},
		{"values swapped", `{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{"member moved inwards", `{"a":{},"b":1}`, `{"a":{"b":1}}`, false},
		{"string against number", `{"a":"1"}`, `{"a":1}`, false},
		{"null against absent", `{"a":null}`, `{}`, false},
	} {
		t.Run("C006: "+c.title, c.run)
	}
}

// C010: "Odd JSON: duplicate names, invalid UTF-8, 1.0 against 1"
// (pineforge-4pass/pineforge-engine#135).
func TestC010OddJSON(t *testing.T) {
	for _, c := range []jsonPair{
		{"duplicate dropped", `{"a":1,"a":2}`, `{"a":2}`, false},
		{"duplicates swapped", `{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{"blanks beside duplicates", `{"a":1,"a":2}`, `{"a":1, "a":2}`, false},
		{"1 and 1.0", `{"a":1}`, `{"a":1.0}`, false},
		{"1 and 1e0", `{"a":1}`, `{"a":1e0}`, false},
		{"2^53 and 2^53+1", `{"a":9007199254740992}`, `{"a":9007199254740993}`, false},
		{"0 and -0", `{"a":0}`, `{"a":-0}`, false},
		{"lone surrogates", `"\ud800"`, `"\ud801"`, false},
		{"invalid UTF-8", "\"\xff\"", "\"\xfe\"", false},
		{"byte order mark", "\ufeff{}", `{}`, false},
		{"trailing garbage", `{"a":1}x`, `{"a":1}`, false},
		{"too deep", strings.Repeat("[", 100_000), strings.Repeat("[", 100_001), false},
	} {
		t.Run("C010: "+c.title, c.run)
		t.Run("C010: itself, "+c.title, func(t *testing.T) {
			checkDiffers(t, probe{body: c.a}.print(), probe{body: c.a}.print(), "")
		})
	}
}

// C008: "Fields that legitimately change at each attempt cause false 422"
// (agentic-commerce-protocol/agentic-commerce-protocol#120).
func TestC008ChangingFields(t *testing.T) {
	a := probe{header: []string{"X-Request-Id", "1", "Date", "now", "Signature", "s", "Authorization", "Bearer 1"}}
	b := probe{header: []string{"X-Request-Id", "2", "Date", "then", "Authorization", "Bearer 2", "Cookie", "c"}}
	t.Run("C008: header fields", func(t *testing.T) { checkDiffers(t, a.print(), b.print(), "") })
	a.selected, b.selected = []string{"date"}, []string{"Date"}
	t.Run("C008: unless selected", func(t *testing.T) { checkDiffers(t, a.print(), b.print(), "header") })
}

func TestNamedDifference(t *testing.T) {
	selected := []string{"X-Tenant-Mode", "X-Mode"}
	for _, c := range []struct {
		title, want string
		a, b        probe
	}{
		{"nothing", "", probe{}, probe{}},
		{"method", "method", probe{}, probe{method: "PUT"}},
		{"path", "path", probe{}, probe{target: "/order?a=1&b=2"}},
		{"escaped path", "path", probe{target: "/a%2Fb"}, probe{target: "/a/b"}},
		{"trailing slash", "path", probe{target: "/a"}, probe{target: "/a/"}},
		{"order of the query", "query", probe{}, probe{target: "/orders?b=2&a=1"}},
		{"no query", "query", probe{}, probe{target: "/orders"}},
		{"path into query", "path", probe{target: "/a/b"}, probe{target: "/a?/b"}},
		{"media type", "content-type", probe{}, probe{contentType: "text/json"}},
		{"no media type", "content-type", probe{}, probe{contentType: "none"}},
		{"If-Match", "if-match", probe{header: []string{"If-Match", `"1"`}}, probe{header: []string{"If-Match", `"2"`}}},
		{"If-Match absent", "if-match", probe{}, probe{header: []string{"If-Match", `"1"`}}},
		{"If-Match empty", "if-match", probe{}, probe{header: []string{"If-Match", ""}}},
		{"If-Match in two lines", "", probe{header: []string{"If-Match", `"1", "2"`}},
			probe{header: []string{"If-Match", `"1"`, "if-match", ` "2" `}}},
		{"selected field", "header", probe{selected: selected, header: []string{"X-Mode", "1"}},
			probe{selected: selected, header: []string{"X-Mode", "2"}}},
		{"value in another field", "header", probe{selected: selected, header: []string{"X-Mode", "1"}},
			probe{selected: selected, header: []string{"X-Tenant-Mode", "1"}}},
		{"body", "body", probe{}, probe{body: `{"a":2}`}},
		{"path before body", "path", probe{}, probe{target: "/x", body: `{"a":2}`}},
		{"method before all", "method", probe{}, probe{method: "PATCH", target: "/x?y", contentType: "none", body: "z"}},
	} {
		t.Run(c.title, func(t *testing.T) { checkDiffers(t, c.a.print(), c.b.print(), c.want) })
	}
}

func TestContentType(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"application/json", "Application/JSON", true},
		{"application/json", "application/json; charset=utf-8", true},
		{"application/json;charset=utf-8", `application/json ; Charset="UTF-8"`, true},
		{"application/json", "application/json; profile=x", false},
		{"application/json; profile=x", `application/JSON; Profile="x"`, true},
		{"application/json; profile=x", "application/json; profile=X", false},
		{"application/ld+json; charset=utf-8", "application/ld+json", true},
		{"text/plain; charset=utf-8", "text/plain; charset=UTF-8", true},
		{"text/plain; charset=utf-8", "text/plain; charset=latin1", false},
		{"text/plain; charset=utf-8", "text/plain", false},
		{"text/plain; a=1; b=2", "text/plain; b=2; a=1", true},
		{"text/plain; a=1; b=2", "text/plain; a=2; b=1", false},
		{"multipart/form-data; boundary=a", "multipart/form-data; boundary=b", true},
		{"multipart/form-data; boundary=a", "multipart/mixed; boundary=a", false},
		{"text/plain; boundary=a", "text/plain; boundary=b", false},
		{"not a type", "not a type", true},
		{"not a type", "Not A Type", false},
		{"text/plain; a", "text/plain; b", false},
		{"application/json", "rapplication/json", false},
	} {
		a, b := probe{contentType: c.a}, probe{contentType: c.b}
		want := "content-type"
		if c.same {
			want = ""
		}
		t.Run(c.a+" | "+c.b, func(t *testing.T) { checkDiffers(t, a.print(), b.print(), want) })
	}
}

// A parameter may not take the place of two.
func TestContentTypeParametersDoNotRunTogether(t *testing.T) {
	a := readContentType(`text/plain; a="1;b=2"`)
	b := readContentType(`text/plain; a=1; b=2`)
	if bytes.Equal(a.text, b.text) {
		t.Errorf("both are compared as %q", a.text)
	}
}

func TestUnreadableFingerprints(t *testing.T) {
	good := probe{}.print()
	other := bytes.Clone(good)
	other[1] = '2'
	for name, bad := range map[string][]byte{
		"nil": nil, "empty": {}, "short": good[:len(good)-1], "long": append(bytes.Clone(good), 0),
		"version only": []byte(fpVersion), "other version": other, "text": []byte("v1:abc"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2][]byte{{bad, good}, {good, bad}, {bad, bad}} {
				if same(pair[0], pair[1]) || differs(pair[0], pair[1]) != "" {
					t.Errorf("same %v, differs %q", same(pair[0], pair[1]), differs(pair[0], pair[1]))
				}
			}
		})
	}
}

// Two bodies without a canonical form have the same zeros in its place.
func TestNoCanonicalFormIsNoMatch(t *testing.T) {
	a, b := probe{contentType: "text/plain", body: "x"}.print(), probe{contentType: "text/plain", body: "y"}.print()
	if !bytes.Equal(a[fpCanonAt:], make([]byte, sha256.Size)) || !bytes.Equal(a[fpCanonAt:], b[fpCanonAt:]) {
		t.Fatal("a text has a canonical digest")
	}
	checkDiffers(t, a, b, "body")
}

// What is stored must be read the same by later versions of the code: these
// bytes may change only together with fpVersion. They are put together here
// from the documented layout.
func TestFingerprintLayout(t *testing.T) {
	parts := []string{"POST", "/orders", "a=1&b=2", "mapplication/json", "\x00", ""}
	want, head := []byte("v1"), ""
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		want = append(want, sum[:8]...)
		head += length(part) + part
	}
	raw := sha256.Sum256([]byte(head + length(`{"b":1, "a":2}`) + `{"b":1, "a":2}`))
	canon := sha256.Sum256([]byte(head + length(`{"a":2,"b":1}`) + `{"a":2,"b":1}`))
	want = append(append(want, raw[:]...), canon[:]...)
	got := probe{body: `{"b":1, "a":2}`}.print()
	if !bytes.Equal(got, want) || len(got) != 114 {
		t.Errorf("fingerprint\n%s, want\n%s", hex.EncodeToString(got), hex.EncodeToString(want))
	}
}

func length(s string) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
}

// doc is a random JSON value that can be written in many ways.
type doc struct {
	scalar  string
	names   []string // an object if not nil
	members []doc    // the values of names, or of an array
}

func randomDoc(r *rand.Rand, depth int) doc {
	scalars := []string{`1`, `1.0`, `-2e3`, `9007199254740993`, `"x"`, `""`, `true`, `null`}
	kind := r.IntN(3)
	if depth == 0 || kind == 0 {
		return doc{scalar: scalars[r.IntN(len(scalars))]}
	}
	d := doc{}
	for i := range 2 + r.IntN(4) {
		if kind == 1 {
			d.names = append(d.names, `"n`+strconv.Itoa(i)+`"`)
		}
		d.members = append(d.members, randomDoc(r, depth-1))
	}
	return d
}

// write writes d with random blanks, its members in random order.
func (d doc) write(r *rand.Rand, b *strings.Builder) {
	blank := func(s string) {
		b.WriteString(strings.Repeat(" ", r.IntN(2)) + s + strings.Repeat("\n", r.IntN(2)))
	}
	if d.scalar != "" {
		blank(d.scalar)
		return
	}
	order, open, end := r.Perm(len(d.members)), "{", "}"
	if d.names == nil {
		open, end = "[", "]"
		for i := range order {
			order[i] = i
		}
	}
	blank(open)
	for n, i := range order {
		if n > 0 {
			blank(",")
		}
		if d.names != nil {
			blank(d.names[i])
			blank(":")
		}
		d.members[i].write(r, b)
	}
	blank(end)
}

func (d doc) text(r *rand.Rand) string {
	var b strings.Builder
	d.write(r, &b)
	return b.String()
}

// arrays calls f for each array in d with members that differ.
func (d doc) arrays(f func([]doc)) {
	if d.scalar == "" && d.names == nil {
		f(d.members)
	}
	for _, m := range d.members {
		m.arrays(f)
	}
}

func TestRandomDocuments(t *testing.T) {
	const seed = 20
	fixed := func() *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
	r := fixed()
	swapped := 0
	for range 500 {
		d := randomDoc(r, 4)
		stored := probe{body: d.text(r)}.print()
		checkDiffers(t, stored, probe{body: d.text(r)}.print(), "")
		plain := d.text(fixed())
		d.arrays(func(members []doc) {
			a, b := members[0], members[1]
			if a.text(fixed()) == b.text(fixed()) {
				return
			}
			members[0], members[1] = b, a
			swapped++
			if changed := (probe{body: d.text(r)}).print(); same(stored, changed) {
				t.Errorf("an array reordered in %s went unseen", plain)
			}
			members[0], members[1] = a, b
		})
	}
	if swapped < 100 {
		t.Errorf("only %d arrays were reordered: the documents are too poor", swapped)
	}
}

func FuzzSame(f *testing.F) {
	good := probe{}.print()
	f.Add(good, good)
	f.Add(good, probe{body: `{ "a":1}`}.print())
	f.Add(good, probe{method: "PUT"}.print())
	f.Add(good[:50], good)
	f.Add([]byte(fpVersion), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		equal := same(a, b)
		if equal != same(b, a) || differs(a, b) != differs(b, a) {
			t.Fatal("the order of the two matters")
		}
		if readable := isFingerprint(a) && isFingerprint(b); readable && equal == (differs(a, b) != "") ||
			!readable && (equal || differs(a, b) != "") {
			t.Fatalf("same %v, differs %q, readable %v", equal, differs(a, b), readable)
		}
	})
}

func FuzzFingerprint(f *testing.F) {
	f.Add("application/json", []byte(`{"a":1}`), []byte(`{ "a":1}`))
	f.Add("text/plain; charset=utf-8", []byte("x"), []byte("y"))
	f.Add("multipart/form-data; boundary=a", []byte("--a--"), []byte("--b--"))
	f.Add("application/x+json;a", []byte(`{"a":1,"a":2}`), []byte(`{"a":2}`))
	f.Fuzz(func(t *testing.T, ct string, a, b []byte) {
		r := &http.Request{Method: http.MethodPost, URL: httptest.NewRequestWithContext(t.Context(), "POST", "/", nil).URL, Header: http.Header{"Content-Type": {ct}}}
		fpA, fpB := fingerprint(r, nil, a), fingerprint(r, nil, b)
		if !same(fpA, fingerprint(r, nil, a)) || len(fpA) != fpSize {
			t.Fatal("a request is not the same as itself")
		}
		canonA, okA := canonicalBody(readContentType(ct).media, a)
		canonB, okB := canonicalBody(readContentType(ct).media, b)
		want := bytes.Equal(a, b) || okA && okB && bytes.Equal(canonA, canonB)
		if same(fpA, fpB) != want {
			t.Fatalf("%q: same(%q, %q) = %v", ct, a, b, !want)
		}
	})
}

// benchBodies are bodies of about 200 bytes and 2 kB, members out of order.
func benchBodies(b *testing.B, run func(b *testing.B, body []byte)) {
	b.Helper()
	const item = `{"sku":"A-1023","quantity":2,"amount":"19.90"}`
	for _, items := range []int{3, 41} {
		body := []byte(`{"order":"ord_4711","customer":{"name":"Zoë","id":81},"items":[` +
			strings.Repeat(item+",", items-1) + item + `]}`)
		b.Run(strconv.Itoa(len(body)), func(b *testing.B) {
			b.ReportAllocs()
			run(b, body)
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	r := httptest.NewRequestWithContext(b.Context(), "POST", "/v1/orders?expand=items", nil)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	benchBodies(b, func(b *testing.B, body []byte) {
		b.Helper()
		for b.Loop() {
			fingerprint(r, nil, body)
		}
	})
}

func BenchmarkCanonicalDigest(b *testing.B) {
	benchBodies(b, func(b *testing.B, body []byte) {
		b.Helper()
		for b.Loop() {
			canon, ok := canonicalBody("application/json", body)
			if !ok {
				b.Fatal("refused")
			}
			sha256.Sum256(canon)
		}
	})
}
