package httpkey

import (
	"bytes"
	"net/http"
	"reflect"
	"testing"
	"time"
)

func TestStoredAnswerRoundTrip(t *testing.T) {
	for _, a := range []answer{
		{Status: 204, Header: http.Header{}},
		{Status: 200, Header: http.Header{}, Body: []byte("\x00\xff\r\n")},
		{Status: 503, Ambiguous: true, Header: http.Header{"Link": {"b", "a", ""}, "Content-Disposition": {"attachment; filename=\"caf\xe9\""}}, Body: bytes.Repeat([]byte("x"), 70_000)},
	} {
		stored := a.encode()
		got, err := decode(stored)
		if err != nil || got.Status != a.Status || got.Ambiguous != a.Ambiguous || !reflect.DeepEqual(got.Header, a.Header) || !bytes.Equal(got.Body, a.Body) {
			t.Errorf("%+v became %+v, %v", a, got, err)
		}
		head := len(stored) - len(a.Body)
		for cut := range head { // what was cut short in its head is no answer
			if _, err := decode(stored[:cut]); err == nil {
				t.Errorf("%d of %d bytes are an answer", cut, len(stored))
			}
		}
	}
}

func TestStoredByOthers(t *testing.T) {
	for _, stored := range []string{
		"", "\x01", "\x01\x00", "\x02\x00\xc8\x01\x00", "\x01\x02\xc8\x01\x00", "\x01\x00\x64\x00", "\x01\x00\xe8\x07\x00", "\x01\x00\xc8\x01",
		"\x01\x00\xc8\x01\x01", "\x01\x00\xc8\x01\x01\x01a", "\x01\x00\xc8\x01\x01\x01a\x01\x02b", "\x01\x00\xc8\x01\x01\x01a\xff\xff\xff\xff\x0f",
		"\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "{\"status\":200}", "any result",
	} {
		if a, err := decode([]byte(stored)); err == nil {
			t.Errorf("%q is read as %+v", stored, a)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, a := range []answer{{Status: 200, Body: []byte("x")}, {Status: 503, Ambiguous: true, Header: http.Header{"Link": {"a", "b"}}}} {
		f.Add(a.encode())
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		a, err := decode(stored)
		if err != nil {
			return
		}
		b, err := decode(a.encode())
		if err != nil || b.Status != a.Status || b.Ambiguous != a.Ambiguous || !bytes.Equal(a.Body, b.Body) || !reflect.DeepEqual(a.Header, b.Header) {
			t.Fatalf("%q: %+v became %+v, %v", stored, a, b, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, "Link", "a", "b", []byte("body"), true)
	f.Add(304, "etag", "\"\xff\"", "", []byte(nil), false)
	f.Fuzz(func(t *testing.T, status int, name, one, two string, body []byte, ambiguous bool) {
		a := answer{Status: status, Header: keep(http.Header{name: {one, two}}, status, []string{name}), Body: body, Ambiguous: ambiguous}
		b, err := decode(a.encode())
		if valid := status >= 200 && status <= 999; valid != (err == nil) {
			t.Fatalf("status %d: %v", status, err)
		}
		if err == nil && (!bytes.Equal(a.Body, b.Body) || !reflect.DeepEqual(a.Header, b.Header)) {
			t.Fatalf("%+v became %+v", a, b)
		}
	})
}

func TestPreferredWait(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"wait=5": 5 * time.Second, "respond-async, wait=10": 10 * time.Second, `WAIT = "3"`: 3 * time.Second, "wait=0": 0, "wait=7; foo=bar, wait=9": 7 * time.Second,
		"": -1, "wait": -1, "wait=": -1, "wait=x": -1, "wait=-1": -1, "wait=1.5": -1, "waiting=5": -1, "wait=99999999999": -1, "foo=wait=5": -1,
	} {
		got, ok := preferredWait(http.Header{"Prefer": {line}})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", line, got, ok)
		}
	}
}

func FuzzPreferredWait(f *testing.F) {
	f.Add("wait=5", "respond-async")
	f.Add("wait=\"2147483648\"", ",,;=")
	f.Fuzz(func(t *testing.T, one, two string) {
		if d, ok := preferredWait(http.Header{"Prefer": {one, two}}); d < 0 || !ok && d != 0 || d > 1<<31*time.Second {
			t.Fatalf("%q %q: %v, %v", one, two, d, ok)
		}
	})
}
