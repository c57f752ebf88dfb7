package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

// Verify checks what r has recorded. On failure it ends the test, with the
// place of the whole history in a file.
func (r *Recorder) Verify(t testing.TB) {
	t.Helper()
	ops := r.Ops()
	err := Check(ops)
	if err == nil {
		return
	}
	var text strings.Builder
	for i := range ops {
		fmt.Fprintln(&text, &ops[i])
	}
	path := filepath.Join(t.ArtifactDir(), "history.txt")
	if werr := os.WriteFile(path, []byte(text.String()), 0o666); werr != nil {
		t.Errorf("saving the history: %v", werr)
	}
	t.Fatalf("the rules do not allow this history of %d calls (all of it in %s, see -artifacts):\n%v", len(ops), path, err)
}

// explain shows where the longest order ended and what could not follow.
func (s *search) explain() string {
	var b strings.Builder
	if s.steps > maxSteps {
		fmt.Fprintf(&b, "undecided after %d steps; ", maxSteps)
	}
	fmt.Fprintf(&b, "no order of its %d calls is right. The longest, of %d, leads to\n\t%s\nand none of these can follow:\n",
		len(s.ops), s.length, short(&s.reached.row.Record))
	s.done = s.best
	ready, _ := s.ready(0)
	for _, i := range ready[:min(len(ready), 12)] {
		fmt.Fprintf(&b, "\t%v\n", &s.ops[i])
	}
	return b.String()
}

// String shows a call in one line.
func (op *Op) String() string {
	text := fmt.Sprintf("%d", op.Call)
	if op.Return != never {
		text += fmt.Sprintf("–%d", op.Return)
	}
	text += fmt.Sprintf(" %s %q", op.Kind, op.Key.ID)
	switch op.Kind {
	case Claim:
		text += fmt.Sprintf(" by %.3x having seen %v for %v", op.Request.Attempt, op.Request.Seen, op.Request.Lease)
		if op.Request.Recover {
			text += " recovering"
		}
	case Update:
		text += fmt.Sprintf(" %d %v to %v for %v", op.Token, op.Change.From, op.Change.To, op.Change.For)
	}
	switch {
	case op.Return == never:
		return text + ": no answer"
	case op.Err != nil:
		text += fmt.Sprintf(": error %q,", op.Err)
	case op.Won:
		text += fmt.Sprintf(": won (again %v),", op.Again)
	}
	return text + " " + short(&op.Record)
}

func short(rec *semel.Record) string {
	if rec.Token == 0 {
		return "absent"
	}
	note := "unmarked"
	if rec.Note != nil {
		note = fmt.Sprintf("note %q", rec.Note)
	}
	return fmt.Sprintf("%v by %.3x, token %d, attempts %d, until %s, now %s, %s, doubted %v", rec.State, rec.Attempt, rec.Token,
		rec.Attempts, rec.Until.UTC().Format("15:04:05.000000"), rec.Now.UTC().Format("15:04:05.000000"), note, rec.Doubted)
}
