package storetest

import (
	"time"

	"github.com/semel-dev/semel"
)

var versionCases = []testCase{
	{name: "rule 0: a claim that saw nothing does not win a record", run: absentSeen},
	{name: "rule 0: a claim that saw a record does not win an absent key", run: recordSeen},
	{name: "rule 0: each part of the version counts", run: versionParts},
	{name: "rule 0: an instant is compared to the microsecond", run: versionInstant},
	{name: "rule 0: a delayed copy of a refused claim wins nothing later", run: delayedRefusal},
	{name: "rule 0: a version that was claimed does not come back", run: versionUsed},
}

func absentSeen(e *env) {
	e.win("lapsed")
	e.change(e.win("free"), release())
	e.change(e.win("done"), complete("result"))
	e.advance(window)
	for _, id := range []string{"lapsed", "free", "done"} {
		answer := e.claim(request(id))
		equal(e, "Won on "+id, answer.Won, false)
		equal(e, "Token shown of "+id, answer.Record.Token, e.get(id).Token)
	}
}

func recordSeen(e *env) {
	other := e.win("other")
	answer := e.claim(request("k", seeing(other.Version())))
	equal(e, "Won", answer.Won, false)
	equal(e, "Token shown", answer.Record.Token, 0)
	equal(e, "nothing is stored", e.gone("k"), true)
}

func versionParts(e *env) {
	e.win("lapsed")
	e.change(e.win("free"), release())
	e.change(e.win("doubted", marked("note")), doubt())
	e.advance(lease)
	for _, id := range []string{"lapsed", "free", "doubted"} {
		right := e.version(id)
		for what, spoil := range map[string]func(*semel.Version){
			"token":   func(v *semel.Version) { v.Token++ },
			"older":   func(v *semel.Version) { v.Token-- },
			"state":   func(v *semel.Version) { v.State ^= 1 },
			"doubted": func(v *semel.Version) { v.Doubted = !v.Doubted },
			"until":   func(v *semel.Version) { v.Until = v.Until.Add(time.Millisecond) },
		} {
			wrong := right
			spoil(&wrong)
			equal(e, "Won on "+id+" with another "+what, e.claim(request(id, seeing(wrong), recovering)).Won, false)
		}
		equal(e, "Won on "+id, e.claim(request(id, seeing(right), recovering)).Won, true)
	}
}

func versionInstant(e *env) {
	e.win("k")
	e.advance(lease)
	right := e.version("k")
	for _, d := range []time.Duration{-time.Microsecond, time.Microsecond} {
		wrong := right
		wrong.Until = right.Until.Add(d)
		equal(e, "Won on an instant off by "+d.String(), e.claim(request("k", seeing(wrong))).Won, false)
	}
	right.Until = right.Until.In(time.FixedZone("elsewhere", 7200))
	equal(e, "Won on the same instant in another zone", e.claim(request("k", seeing(right))).Won, true)
}

func delayedRefusal(e *env) {
	held := e.win("k")
	copies := []semel.Request{request("k"), request("k", seeing(held.Version()))}
	for _, req := range copies {
		equal(e, "Won", e.claim(req).Won, false)
	}
	free := e.change(held, release())
	for _, req := range copies {
		equal(e, "Won by the copy after the release", e.claim(req).Won, false)
	}
	e.advance(memory)
	for _, req := range copies {
		equal(e, "Won by the copy after the expiry", e.claim(req).Won, false)
	}
	e.stands(free)
}

func versionUsed(e *env) {
	free := e.change(e.win("k"), release())
	e.change(e.win("k"), release())
	equal(e, "Won on a version that was claimed", e.claim(request("k", seeing(free.Version()))).Won, false)
	e.win("k")
	e.advance(lease)
	equal(e, "Won on a version that was claimed twice", e.claim(request("k", seeing(free.Version()))).Won, false)
}
