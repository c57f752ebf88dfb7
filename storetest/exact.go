package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

var exactCases = []testCase{
	{name: "exact: keys are compared byte for byte", run: exactKeys},
	{name: "exact: scope and id are not mixed up", run: exactHalves},
	{name: "exact: keys may be as long as the limit says", run: exactLengths},
	{name: "exact: bytes come back as they were given", run: exactBytes},
	{name: "exact: nothing and the empty text are kept apart", run: exactNil},
	{name: "exact: the caller may reuse its buffers", run: exactBuffers},
	{name: "exact: a version read back names the record it was read from", run: exactVersions},
	{name: "exact: everything survives a reopening", run: exactReopened, survives: true},
}

// alphabets are keys that collations, trimming or encodings take for one
// another.
var alphabets = []string{
	"A", "a", "a ", " a", "\u00e1", "a\u0301", "\u00e9", "e\u0301", "ß", "ss", "ſ", "ﬁ", "fi", "\u00c5", "\u212b", "İ", "i", "ı",
	"a\x00", "a\x00b", "\x00", "a\n", "a\t", "a\r\n", "\xff", "\xfe", "\xff\xfe", "a\xc3", "🔑", "🔑🔑", "%", "_", "a%", "\\", "'", "\"",
	"{a}", "*", "a:b", "a/b", "../a", "0", "00", "0.0", "null", "NULL",
}

func exactKeys(e *env) {
	for _, half := range []func(string) semel.Key{
		func(s string) semel.Key { return semel.Key{Scope: "scope", ID: s} },
		func(s string) semel.Key { return semel.Key{Scope: s, ID: "id"} },
	} {
		for _, text := range alphabets {
			req := request("")
			req.Key = half(text)
			answer := e.claim(req)
			equal(e, fmt.Sprintf("Won on %q", text), answer.Won, true)
			equal(e, "Key", answer.Record.Key, req.Key)
		}
		for _, text := range alphabets {
			rec, err := e.s.Get(e.Context(), half(text))
			if err != nil {
				e.Errorf("get of %q: %v", text, err)
			}
			equal(e, "Key read", rec.Key, half(text))
		}
	}
}

func exactHalves(e *env) {
	for _, k := range []semel.Key{
		{Scope: "a", ID: "bc"}, {Scope: "ab", ID: "c"}, {Scope: "bc", ID: "a"}, {Scope: "c", ID: "ab"},
		{Scope: "a\x00", ID: "b"}, {Scope: "a", ID: "\x00b"}, {Scope: "a:", ID: "b"}, {Scope: "a", ID: ":b"},
	} {
		req := request("")
		req.Key = k
		equal(e, fmt.Sprintf("Won on %q", k), e.claim(req).Won, true)
	}
}

func exactLengths(e *env) {
	long := strings.Repeat("k", semel.MaxKeyBytes-1)
	for _, text := range []string{long, long + "k", long + "l", "l" + long, strings.Repeat("é", semel.MaxKeyBytes/2), strings.Repeat("\x00", semel.MaxKeyBytes), strings.Repeat("🔑", semel.MaxKeyBytes/4)} {
		for _, k := range []semel.Key{{Scope: text, ID: text}, {Scope: text, ID: "i"}, {Scope: "s", ID: text}} {
			req := request("")
			req.Key = k
			answer := e.claim(req)
			equal(e, fmt.Sprintf("Won on %d bytes", len(text)), answer.Won, true)
			equal(e, "Key", answer.Record.Key, k)
		}
	}
}

func exactBytes(e *env) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	large := bytes.Repeat(every, 256) // 64 KiB
	req := request("k")
	req.Note, req.Fingerprint, req.By = every, every, "höst:17 'quoted' \"twice\" \\ 🔑"
	rec := e.claim(req).Record
	equal(e, "By", e.get("k").By, req.By)
	e.text("Note", e.get("k").Note, every)
	e.text("Fingerprint", e.get("k").Fingerprint, every)
	c := complete("")
	c.Result, c.Why = large, req.By
	e.change(rec, c)
	e.text("Result", e.get("k").Result, large)
	equal(e, "Size", e.get("k").Size, int64(len(large)))
	equal(e, "Why", e.get("k").Why, c.Why)
}

func exactNil(e *env) {
	for id, text := range map[string][]byte{"nothing": nil, "empty": {}} {
		req := request(id)
		req.Note, req.Fingerprint = text, text
		rec := e.claim(req).Record
		for _, got := range []semel.Record{rec, e.get(id)} {
			e.text("Note of "+id, got.Note, text)
			e.text("Fingerprint of "+id, got.Fingerprint, text)
		}
		c := complete("")
		c.Result = text
		e.text("Result of "+id, e.change(rec, c).Result, text)
		e.text("Result read of "+id, e.get(id).Result, text)
	}
}

func exactBuffers(e *env) {
	buffer := []byte("first")
	reuse := func() { copy(buffer, "XXXXX") }
	req := request("k")
	req.Note, req.Fingerprint = buffer, buffer
	rec := e.claim(req).Record
	reuse()
	e.text("Note", e.get("k").Note, []byte("first"))
	e.text("Fingerprint", e.get("k").Fingerprint, []byte("first"))
	c := complete("")
	copy(buffer, "later")
	c.Result = buffer
	e.change(rec, c)
	reuse()
	e.text("Result", e.get("k").Result, []byte("later"))
}

func exactVersions(e *env) {
	for i, d := range []time.Duration{semel.MinLease, time.Second + time.Millisecond, semel.MaxLease} {
		id := fmt.Sprint(i)
		req := request(id)
		req.Lease = d
		told := e.claim(req).Record
		read := e.get(id)
		equal(e, "the version read is the version told", read.Version().Equal(told.Version()), true)
		e.instant("Created", read.Created, told.Created)
		e.advance(d)
		equal(e, "Won on the version told", e.claim(request(id, seeing(told.Version()))).Won, true)
	}
}

func exactReopened(e *env) {
	c := release()
	c.After, c.By, c.Why = time.Hour, "host:17", "busy"
	d := complete("result")
	d.ResultFor = 2 * time.Hour
	e.win("recovered", marked("note"))
	e.advance(lease)
	recs := []semel.Record{
		e.win("recovered", recovering),
		e.win("held", fingerprint("print")),
		e.win("marked", marked("")),
		e.change(e.win("doubted", marked("note")), doubt()),
		e.change(e.win("done"), d),
		e.change(e.win("dead"), bury("reason")),
		e.change(e.win("free"), c),
		e.change(e.change(e.win("forgotten"), complete("")), forget(semel.Done)),
	}
	now := e.get("held").Now
	e.s = e.h.Reopen(e, e.s)
	for _, rec := range recs {
		e.stands(rec)
	}
	if got := e.get("held").Now; got.Before(now) {
		e.Errorf("the reopened store's time is %v, before it was %v", got, now)
	}
	e.change(recs[4], complete("other"))
	e.stands(recs[4])
	e.lose(recs[7], release())
}
