package httpkey

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
)

// capture is the http.ResponseWriter that a guarded handler writes to. It holds
// the answer back until its outcome is recorded. An answer that is flushed, or
// outgrows the limit, is passed on live instead, and the handler need not know
// whether anybody still listens.
type capture struct {
	header http.Header // the handler's
	limit  int

	mu     sync.Mutex
	client http.ResponseWriter       // nil: the client has left or was answered otherwise
	mark   func(http.Header, Result) // adds the guard's fields to a head that is sent
	status int                       // 0: no head yet
	head   http.Header               // as it stood when the head was written
	buf    bytes.Buffer              // what is held back, or kept beside a live answer
	size   int64                     // of the body so far
	live   bool                      // passed on as it comes
	over   bool                      // outgrew the limit
	ended  bool                      // the handler has returned: what is recorded is what is sent
}

// errEnded is what a write gets that comes after its handler has returned.
var errEnded = errors.New("httpkey: the handler of this answer has ended")

func newCapture(client http.ResponseWriter, limit int, mark func(http.Header, Result)) *capture {
	return &capture{header: make(http.Header), limit: limit, client: client, mark: mark}
}

// Header implements http.ResponseWriter.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter. Informational answers are not
// passed on. It panics where net/http does: a status that cannot be sent must
// not be recorded as an outcome either.
func (c *capture) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpkey: invalid WriteHeader code %d", status))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if status >= 200 && !c.ended {
		c.writeHead(status)
	}
}

// end closes the answer, which is 200 if the handler wrote nothing, as in
// net/http. With what a stray goroutine of the handler's writes later, the
// client's answer would not be the recorded one.
func (c *capture) end(normally bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if normally {
		c.writeHead(http.StatusOK)
	}
	c.ended = true
}

// signal is what the handler says of its effect, also where it never got as far
// as writing a head.
func (c *capture) signal() string {
	if c.status == 0 {
		return c.header.Get(effectField)
	}
	return c.head.Get(effectField)
}

func (c *capture) writeHead(status int) {
	if c.status == 0 {
		c.status, c.head = status, c.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return 0, errEnded
	}
	c.writeHead(http.StatusOK)
	if c.status == http.StatusNoContent || c.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	c.size += int64(len(p))
	if !c.over && c.size > int64(c.limit) {
		c.over = true
		c.goLive()
		c.buf = bytes.Buffer{} // it will not be kept: give the memory back
	}
	if !c.over {
		c.buf.Write(p)
	}
	if c.live && c.client != nil {
		if _, err := c.client.Write(p); err != nil {
			c.client = nil // it has left; the handler writes for the record
		}
	}
	return len(p), nil
}

// Flush implements http.Flusher: the answer goes live.
func (c *capture) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.writeHead(http.StatusOK)
	c.goLive()
	if f, ok := c.client.(http.Flusher); ok {
		f.Flush()
	}
}

func (c *capture) goLive() {
	if c.live {
		return
	}
	c.live = true
	if c.client != nil {
		c.sendLocked(Executed)
	}
}

// detach parts the client from the answer, unless a part of it is already with
// them. The handler then writes for the record only.
func (c *capture) detach() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live && c.client != nil {
		return false
	}
	c.client = nil
	return true
}

// send gives the client the answer that was held back.
func (c *capture) send(result Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil && !c.live && c.status != 0 {
		c.sendLocked(result)
	}
}

func (c *capture) sendLocked(result Result) {
	maps.Copy(c.client.Header(), c.head)
	for _, name := range signalFields {
		c.client.Header().Del(name)
	}
	c.mark(c.client.Header(), result)
	c.client.WriteHeader(c.status)
	if c.buf.Len() > 0 {
		// An error means that the client has left; the answer is recorded.
		_, _ = c.client.Write(c.buf.Bytes())
	}
}
