package httpkey_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/httpkey"
)

func TestDecodeAnswer(t *testing.T) {
	header := http.Header{"Content-Type": {"text/plain"}, "Set-Cookie": {"never=stored"}}
	stored, err := httpkey.EncodeAnswer(http.StatusCreated, header, []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	status, got, body, err := httpkey.DecodeAnswer(stored)
	if err != nil || status != http.StatusCreated || string(body) != "body" {
		t.Errorf("status %d, body %q, error %v", status, body, err)
	}
	if len(got) != 1 || got.Get("Content-Type") != "text/plain" {
		t.Errorf("header %v", got)
	}
	for n := range len(stored) - len("body") {
		if _, _, _, err := httpkey.DecodeAnswer(stored[:n]); err == nil {
			t.Errorf("the first %d bytes are taken for an answer", n)
		}
	}
}
