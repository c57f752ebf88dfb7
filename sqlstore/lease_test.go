package sqlstore_test

import (
	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

// CompleteTx takes the Keeper's own leases.
var _ sqlstore.Lease = (*semel.Lease)(nil)
