package sqlstore

import (
	"context"

	"github.com/semel-dev/semel"
)

// Lease is what [Store.CompleteTx] needs of a [semel.Lease].
type Lease interface {
	// Key returns the key that is held.
	Key() semel.Key
	// Token returns the token of its holder.
	Token() semel.Token
	// Completion returns the change that records the work as done.
	Completion(result []byte) semel.Change
	// Finishing says that the completion is part of a transaction: renewals
	// would wait for it.
	Finishing()
}

// CompleteTx records, inside the caller's transaction, that the work of a lease
// is done, with its result (nil: none). The work itself may have begun before
// the transaction; what it writes belongs into it. After the commit the key is
// done, after a rollback it is held as before, and the lease is not renewed any
// more either way.
//
// Errors: [semel.ErrLost] if the lease is no longer the caller's: roll back.
// [semel.ErrBusy] and [semel.ErrRetryTx] as in [Store.ClaimTx]; the lease is
// still renewed then.
func (s *Store) CompleteTx(ctx context.Context, tx Tx, lease Lease, result []byte) error {
	if err := tx.check(); err != nil {
		return err
	}
	c := lease.Completion(result)
	if err := c.Check(); err != nil {
		return err
	}
	err := within(ctx, s.d, s.wait, "completion", func() error {
		_, err := s.d.update(ctx, tx.q, lease.Key(), lease.Token(), &c)
		return err
	})
	if err == nil {
		lease.Finishing()
	}
	return err
}
