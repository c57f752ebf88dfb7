package storetest

import (
	"time"

	"github.com/semel-dev/semel"
)

func renew(d time.Duration) semel.Change {
	return semel.Change{From: semel.Held, To: semel.Held, For: d}
}

func mark(note string) semel.Change {
	return semel.Change{From: semel.Held, To: semel.Held, For: lease, Note: []byte(note)}
}

func doubt() semel.Change { return semel.Change{From: semel.Held, To: semel.Held} }

func complete(result string) semel.Change {
	return semel.Change{From: semel.Held, To: semel.Done, For: window, Result: []byte(result)}
}

func bury(reason string) semel.Change {
	return semel.Change{From: semel.Held, To: semel.Dead, For: window, Result: []byte(reason)}
}

func release() semel.Change { return semel.Change{From: semel.Held, To: semel.Free, For: memory} }

func forget(from semel.State) semel.Change {
	return semel.Change{From: from, To: semel.Free, For: memory}
}

// ends are the changes that end a lease.
func ends() []semel.Change {
	return []semel.Change{complete("result"), bury("reason"), release()}
}

// everyChange is one of each allowed kind.
func everyChange() []semel.Change {
	return append(ends(), renew(2*lease), mark("late"), doubt(), forget(semel.Done), forget(semel.Dead))
}
