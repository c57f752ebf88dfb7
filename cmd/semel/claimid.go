package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"github.com/semel-dev/semel"
)

// byClaimID finds the key that a claim id stands for. The SQL stores list keys
// by their digests, and a cursor is the digest before the page: the page after
// the digest's predecessor begins with the key, if there is one.
func byClaimID(id string) (func(context.Context, listed) (semel.Record, error), error) {
	digest, err := hex.DecodeString(id)
	if err != nil || len(digest) != len(semel.Key{}.Digest()) {
		return nil, usageError("--claim-id is %s, and not 64 hexadecimal digits", visible(id))
	}
	wanted := hex.EncodeToString(digest)
	before := hex.EncodeToString(predecessor(digest))
	return func(ctx context.Context, store listed) (semel.Record, error) {
		page, err := store.List(ctx, semel.Filter{Cursor: before, Limit: 1})
		if err != nil {
			return semel.Record{}, storeError(err)
		}
		if len(page.Records) == 0 || page.Records[0].Key.ClaimID() != wanted {
			return semel.Record{}, &exitError{exitNotFound, fmt.Errorf("the store knows nothing of the claim id %s", wanted)}
		}
		return lookup(ctx, store, page.Records[0].Key) // a list has no results
	}, nil
}

// predecessor is n - 1, n being a number of fixed size.
func predecessor(n []byte) []byte {
	p := bytes.Clone(n)
	for i := len(p) - 1; i >= 0; i-- {
		p[i]--
		if p[i] != 0xff {
			break
		}
	}
	return p
}
