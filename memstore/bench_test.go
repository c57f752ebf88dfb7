package memstore

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

func request(id string) semel.Request {
	return semel.Request{
		Key:     semel.Key{Scope: "bench", ID: id},
		Attempt: semel.NewAttemptID(),
		Lease:   time.Minute,
		Keep:    time.Hour,
	}
}

// BenchmarkClaim/floor is what a user would write by hand: a sync.Map that
// remembers every key for ever.
func BenchmarkClaim(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		var m sync.Map
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.LoadOrStore(semel.Key{Scope: "bench", ID: strconv.FormatInt(n.Add(1), 10)}, time.Now())
			}
		})
	})
	b.Run("semel", func(b *testing.B) {
		b.ReportAllocs()
		s := New()
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Claim(context.Background(), request(strconv.FormatInt(n.Add(1), 10)))
			}
		})
	})
	b.Run("duplicate", func(b *testing.B) {
		b.ReportAllocs()
		s := New()
		req := request("one")
		s.Claim(context.Background(), req)
		req.Attempt = semel.NewAttemptID()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Claim(context.Background(), req)
			}
		})
	})
}
