package semel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

func TestKeyCheck(t *testing.T) {
	long := strings.Repeat("x", semel.MaxKeyBytes)
	for _, c := range []struct {
		key semel.Key
		ok  bool
	}{
		{semel.Key{}, false},
		{semel.Key{Scope: "s"}, false},
		{semel.Key{ID: "i"}, false},
		{semel.Key{Scope: "s", ID: "i"}, true},
		{semel.Key{Scope: " ", ID: "\x00"}, true}, // bytes are bytes
		{semel.Key{Scope: long, ID: long}, true},
		{semel.Key{Scope: long + "x", ID: "i"}, false},
		{semel.Key{Scope: "s", ID: strings.Repeat("é", 128)}, false}, // 256 bytes
	} {
		if err := c.key.Check(); c.ok != (err == nil) || !c.ok && !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("%.20q: %v", c.key, err)
		}
	}
}

// Pinned: stored keys must be found by every later version.
func TestDigestIsStable(t *testing.T) {
	got := semel.Key{Scope: "tenant", ID: "order-1"}.ClaimID()
	const want = "5eab275725475248d1ca234da18965268295cbf8e7adf52b2ec124c8c569939f"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// C094: near-equal keys differ.
func TestDigestTellsKeysApart(t *testing.T) {
	seen := map[string]semel.Key{}
	for _, half := range []string{"A", "a", "a ", " a", "á", "a\u0301", "ß", "ss", "a\x00", "1", "01", "1.0"} {
		for _, k := range []semel.Key{{Scope: half, ID: "x"}, {Scope: "x", ID: half}, {Scope: half + "x", ID: "x"}, {Scope: "x", ID: "x" + half}} {
			if other, ok := seen[k.ClaimID()]; ok && other != k {
				t.Errorf("%q and %q have one digest", k, other)
			}
			seen[k.ClaimID()] = k
		}
	}
}

func TestJoin(t *testing.T) {
	if semel.Join() != "" {
		t.Error("no parts make no key")
	}
	lists := [][]string{{""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"1:a"}, {"1", "a"}, {"1:a1:b"}, {"a", "b"}}
	long := strings.Repeat("x", 300)
	lists = append(lists, []string{long}, []string{long, ""}, []string{long[:150], long[:150]}, []string{"sha256:" + long})
	seen := map[string]int{}
	for i, parts := range lists {
		j := semel.Join(parts...)
		if other, ok := seen[j]; ok {
			t.Errorf("%.30q and %.30q are joined alike", parts, lists[other])
		}
		if n := len(j); n == 0 || n > semel.MaxKeyBytes {
			t.Errorf("%.30q: %d bytes", parts, n)
		}
		seen[j] = i
	}
	// What was joined and hashed is not the same as its hash joined.
	if h := semel.Join(long); semel.Join(h) == h {
		t.Error("Join is idempotent, so that a part can pose as a list")
	}
}

// FuzzJoin: lists that differ are joined to texts that differ, and a key made
// of them is valid.
func FuzzJoin(f *testing.F) {
	f.Add("ab", "c", "a", "bc")
	f.Add("", "1:", "1", ":")
	f.Add(strings.Repeat("x", 260), "", strings.Repeat("x", 259), "x")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		first, second := semel.Join(a, b), semel.Join(c, d)
		if (first == second) != (a == c && b == d) {
			t.Errorf("Join(%q, %q) = %q, Join(%q, %q) = %q", a, b, first, c, d, second)
		}
		if first == semel.Join(a) || first == semel.Join(a, b, c) {
			t.Errorf("lists of other lengths are joined alike: %q", first)
		}
		k := semel.Key{Scope: first, ID: second}
		if err := k.Check(); err != nil {
			t.Error(err)
		}
		if swapped := (semel.Key{Scope: second, ID: first}); (swapped.Digest() == k.Digest()) != (first == second) {
			t.Errorf("%q and %q have one digest", k, swapped)
		}
	})
}
