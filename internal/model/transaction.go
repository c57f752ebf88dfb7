package model

import (
	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// beginTx emits that claimer i's transaction claims the key (ClaimTx).
func (w *world) beginTx(s *State, i uint8) {
	if s.txOwner != 0 || s.now > w.cfg.Ticks {
		return
	}
	full := s.row.expand()
	rec := full.Seen(instant(s.now))
	if rec.State != semel.Free && !rec.Claimable(w.TxTakesDoubt) {
		return
	}
	n := *s
	n.txOwner, n.txSaw = i+1, s.row
	n.txRow = compact(rules.Row{From: rec.State, Keep: ticks(keep), Record: semel.Record{
		Key:        theKey,
		State:      semel.Done,
		Token:      rules.NextToken(max(rec.Token, semel.Token(s.high)), rec.Now),
		Generation: rec.Generation,
		Attempt:    attemptID(i + 1),
		Until:      rec.Now.Add(ticks(window)),
		Result:     results[i+1],
		Size:       1,
	}})
	n.claimers[i].phase = inTx
	w.emit(step{kind: beginsTx, claimer: i}, &n, "")
}

func (w *world) commit(s *State, i uint8) {
	n := *s
	n.row, n.txOwner, n.txRow, n.txSaw = s.txRow, 0, row{}, row{}
	n.maxToken = max(n.maxToken, s.txRow.token)
	if s.txSaw.final() {
		n.epoch++
	}
	c := &n.claimers[i]
	c.phase, c.effect, c.epoch = ended, landed, n.epoch
	w.emit(step{kind: commits, claimer: i}, &n, checkCommit(s, &n))
}

func (w *world) rollBack(s *State, i uint8) {
	n := *s
	n.txOwner, n.txRow, n.txSaw = 0, row{}, row{}
	n.claimers[i].phase = ended
	w.emit(step{kind: rollsBack, claimer: i}, &n, checkRollback(s))
}
