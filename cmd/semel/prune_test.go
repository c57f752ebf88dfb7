package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
)

// heap is a store of which only the refuse is there; removing takes its time.
type heap struct {
	semel.Store
	left semel.Pruned
	fail int // after so many calls; 0: never
}

func (h *heap) Prune(_ context.Context, limit int) (semel.Pruned, error) {
	time.Sleep(400 * time.Millisecond) // sleep: synctest's
	if h.fail--; h.fail == 0 {
		return semel.Pruned{Records: 1}, errors.New("disk full")
	}
	p := semel.Pruned{Records: min(limit, h.left.Records), Results: min(limit, h.left.Results)}
	h.left.Records -= p.Records
	h.left.Results -= p.Results
	return p, nil
}

func TestPrune(t *testing.T) {
	tests := []struct {
		name            string
		heap            heap
		limit           int
		out, errs, fail string
	}{
		{
			"all, with progress", heap{left: semel.Pruned{Records: 9001, Results: 3}}, 1 << 40,
			"9001 keys and 3 answers removed\n", "semel: 6000 keys and 3 answers removed so far\n", "",
		},
		{"more answers than keys", heap{left: semel.Pruned{Records: 1, Results: 2500}}, 1 << 40, "1 key and 2500 answers removed\n", "", ""},
		{"limited", heap{left: semel.Pruned{Records: 9000, Results: 9000}}, 2500, "2500 keys and 2500 answers removed\n", "", ""},
		{"broken off", heap{left: semel.Pruned{Records: 9000}, fail: 2}, 1 << 40, "", "", "disk full (2001 keys and 0 answers were removed before)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, errs bytes.Buffer
				a := &app{out: &out, err: &errs}
				err := a.prune(t.Context(), &tt.heap, tt.limit)
				if out.String() != tt.out || errs.String() != tt.errs {
					t.Errorf("prints %q and %q", out.String(), errs.String())
				}
				if (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
					t.Errorf("error %v, want %q", err, tt.fail)
				}
			})
		})
	}
}
