package httpkey_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// hangingStore answers claims, and updates only when it is let go.
type hangingStore struct {
	semel.Store
	let chan struct{}
}

func (s *hangingStore) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	select {
	case <-s.let:
		return s.Store.Update(ctx, key, token, c)
	case <-ctx.Done():
		return semel.Record{}, ctx.Err()
	}
}

// A store that goes away after the effect does not turn a success into an
// error, and does not keep its answer from the client.
func TestStoreGoesAwayAfterTheEffect(t *testing.T) {
	s := &hangingStore{memstore.New(), make(chan struct{})}
	keeper, err := semel.New(s, &semel.Options{Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{keeper: keeper}
	a.Server = httptest.NewServer(httpkey.Middleware(keeper, byUser, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.runs.Add(1)
		io.WriteString(w, "paid")
	})))
	defer a.Close()
	r := a.send(t, request{key: "k"})
	r.want(t, 200, "unrecorded")
	if r.body != "paid" {
		t.Error(r.body)
	}
	r = a.send(t, request{key: "k", header: http.Header{"Prefer": {"wait=0"}}})
	r.wantProblem(t, 409, "in-progress")
	close(s.let) // recording goes on behind the answer
	r = a.send(t, request{key: "k", header: http.Header{"Prefer": {"wait=20"}}})
	r.want(t, 200, "replayed")
	if a.runs.Load() != 1 {
		t.Errorf("ran %d times", a.runs.Load())
	}
}
