package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// rounds bounds how often one claim or update looks again because the record
// changed between its read and its write. Each such change is somebody's
// success, and a claim is out at the second: its version is gone.
const rounds = 8

// Claim implements [semel.Store]. A refused claim is one read and writes
// nothing. The statement that wins names the version that was read, and takes
// its time from the database.
func (s *Store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	if err := req.Check(); err != nil {
		return semel.Answer{}, err
	}
	var answer semel.Answer
	err := s.run(ctx, "claim", func() (err error) {
		answer, err = s.claim(ctx, &req)
		return err
	})
	if err != nil {
		return semel.Answer{}, err
	}
	return answer, nil
}

func (s *Store) claim(ctx context.Context, req *semel.Request) (semel.Answer, error) {
	for range rounds {
		row, err := s.d.read(ctx, s.db, req.Key)
		if err != nil {
			return semel.Answer{}, err
		}
		next, answer := rules.Claim(row, 0, req, row.Now)
		if !answer.Won {
			return answer, nil
		}
		var after rules.Row
		var won bool
		err = s.inTurn(ctx, func() (err error) {
			if answer.Again {
				after, won, err = s.extend(ctx, req)
			} else {
				after, won, err = s.d.put(ctx, s.db, &row, &record{Row: next, life: req.Lease})
			}
			return err
		})
		if err != nil {
			return semel.Answer{}, err
		}
		if won {
			answer.Record = after.Seen(after.Now)
			if answer.Before.Token != 0 {
				answer.Before = row.Seen(after.Now)
			}
			return answer, nil
		}
	}
	return semel.Answer{}, fmt.Errorf("%w: the record kept changing", semel.ErrBusy)
}

func (s *Store) extend(ctx context.Context, req *semel.Request) (rules.Row, bool, error) {
	digest := req.Key.Digest()
	return one(ctx, s.db, req.Key, s.d.again, digest[:], req.Key.Scope, req.Key.ID, req.Attempt[:], micros(req.Lease))
}

// record is a row to be written: what the rules decided, with lengths in the
// place of times. The database makes the times and the token.
type record struct {
	rules.Row
	life      time.Duration // from now to Until
	resultFor time.Duration // from now to ResultUntil; 0: as long as the record
}

// put writes next where exactly seen stands, and reports whether it did.
func (d *dialect) put(ctx context.Context, q querier, seen *rules.Row, next *record) (rules.Row, bool, error) {
	key := next.Key
	digest := key.Digest()
	args := []any{
		digest[:], key.Scope, key.ID, int64(next.State), int64(next.From), next.Attempts, next.Attempt[:], next.Recovered,
		micros(next.life), micros(next.Keep), micros(next.resultFor), bucket(next.life + next.Keep),
		next.Fingerprint, next.Note, next.Result, string(next.Kept), next.Size, string(next.Source), next.By, next.Why,
	}
	if seen.Token == 0 {
		return one(ctx, q, key, d.insert, args...)
	}
	// Whether seen has expired is decided anew, by the time of the write: it may
	// have had to wait.
	args[5] = int64(seen.Token)
	args = append(args, int64(seen.State), seen.Doubted, seen.Until.UnixMicro(), seen.Note != nil)
	return one(ctx, q, key, d.take, args...)
}

// bucket is the width of the steps in which a record of this span is pruned.
func bucket(span time.Duration) int64 { return micros(span)/64 + 1 }
