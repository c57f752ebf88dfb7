package main

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/sqlstore"
)

// seeder fills a store through a Keeper, and then moves records into the past,
// so that no test has to wait.
type seeder struct {
	db     *sql.DB
	keeper *semel.Keeper
	err    error
}

// seed makes a store with keys in every state.
func seed(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", sqliteDSN(file))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite); err != nil {
		return err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.SQLite, nil)
	if err != nil {
		return err
	}
	keeper, err := semel.New(store, &semel.Options{By: "web-1:4711", Window: 30 * 24 * time.Hour, ResultFor: 24 * time.Hour})
	if err != nil {
		return err
	}
	s := &seeder{db: db, keeper: keeper}
	s.orders(ctx)
	s.others(ctx)
	return s.err
}

// ago is an age that stays the same for people while a test runs.
const ago = 12*time.Minute + 20*time.Second

func (s *seeder) orders(ctx context.Context) {
	note := func(id string) []byte {
		return []byte(`{"method":"POST","path":"/v1/charges/` + id + `","route":"charges"}`)
	}
	marked := func(id string) *semel.ClaimOptions {
		return &semel.ClaimOptions{Note: note(id), Source: semel.ClientRetry, Fingerprint: []byte{1}}
	}
	answer, err := httpkey.EncodeAnswer(http.StatusCreated, http.Header{"Content-Type": {"application/json"}}, []byte(`{"charge":"ch_1"}`+"\n"))
	s.fail(err)
	s.fail(s.claim(ctx, "orders", "done", marked("done")).Complete(ctx, answer))
	s.past(ctx, "done", ago)
	s.fail(s.claim(ctx, "orders", "expired-answer", marked("x")).Complete(ctx, answer))
	s.past(ctx, "expired-answer", 25*time.Hour+ago)
	head, err := httpkey.EncodeAnswer(http.StatusCreated, nil, nil)
	s.fail(err)
	s.fail(s.claim(ctx, "orders", "large", marked("large")).CompleteKept(ctx, head, semel.KeptTooLarge, 5<<20))
	s.claim(ctx, "orders", "held", marked("held"))
	for _, id := range []string{"lapsed-1", "lapsed-2", "lapsed-3"} {
		s.claim(ctx, "orders", id, marked(id))
		s.past(ctx, id, ago)
	}
	s.fail(s.claim(ctx, "orders", "fresh", marked("fresh")).Doubt(ctx, "status 502 is ambiguous"))
	s.past(ctx, "fresh", 20*time.Second+500*time.Millisecond)
}

func (s *seeder) others(ctx context.Context) {
	s.claim(ctx, "jobs", "unmarked", nil)
	s.past(ctx, "unmarked", ago)
	s.fail(s.claim(ctx, "jobs", "dead", nil).Dead(ctx, "no such account"))
	s.fail(s.claim(ctx, "jobs", "free", nil).Release(ctx))
	s.past(ctx, "free", ago)
	s.fail(s.claim(ctx, "jobs", "result", nil).Complete(ctx, []byte("42")))
	s.fail(s.claim(ctx, "jobs", "over", nil).Complete(ctx, nil))
	s.past(ctx, "over", 400*24*time.Hour)
	s.claim(ctx, "jobs", "task", &semel.ClaimOptions{Note: []byte("step 2 of 3")})
	s.past(ctx, "task", ago)
	s.fail(s.claim(ctx, "evil\x1b[31m", "a\r\nb", nil).Complete(ctx, nil))
}

func (s *seeder) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *seeder) claim(ctx context.Context, scope, id string, o *semel.ClaimOptions) *semel.Lease {
	lease, _, err := s.keeper.Claim(ctx, semel.Key{Scope: scope, ID: id}, o)
	if err != nil {
		panic(err)
	}
	return lease
}

// past moves a record's times back; of a held one so that its lease ended that
// long ago.
func (s *seeder) past(ctx context.Context, id string, d time.Duration) {
	_, err := s.db.ExecContext(ctx, `UPDATE semel SET
		created = created - ?1, prune_after = prune_after - ?1, not_before = 0,
		until = CASE WHEN state = 1 THEN min(until, (SELECT now FROM semel_clock)) ELSE until END - ?1,
		result_until = CASE WHEN result_until > 0 THEN result_until - ?1 ELSE 0 END
		WHERE id = ?2`, d.Microseconds(), id)
	s.fail(err)
}
