package httpkey_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
	"github.com/semel-dev/semel/memstore"
)

// slowStore takes its time before it sends a claim, as a store on a disk does.
type slowStore struct{ semel.Store }

func (s slowStore) Claim(ctx context.Context, r semel.Request) (semel.Answer, error) {
	<-time.After(20 * time.Millisecond)
	if err := ctx.Err(); err != nil {
		return semel.Answer{}, err
	}
	return s.Store.Claim(ctx, r)
}

// A client that has nothing more to send and says so (shutdown(SHUT_WR), nc -N)
// still reads its answer: the store is well, so that 503 store-unavailable is a lie.
func TestHalfClosedClient(t *testing.T) {
	a := serveOn(t, slowStore{memstore.New()}, httpkey.Options{}, func(http.ResponseWriter, *http.Request) {})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", a.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nX-User: u\r\nIdempotency-Key: k\r\nContent-Length: 1\r\n\r\n1")
	c.(*net.TCPConn).CloseWrite()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
}
