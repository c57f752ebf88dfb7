package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// prepared is a database that keeps the statements it has seen prepared on each
// connection: parsing them costs more than running them. They live as long as
// the connections.
type prepared struct {
	*sql.DB
	mu    sync.RWMutex
	stmts map[string]*sql.Stmt // by text
}

// QueryContext is that of a prepared statement.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p.mu.RLock()
	stmt := p.stmts[query]
	p.mu.RUnlock()
	if stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	stmt, err := p.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept, and closed with its connections
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.stmts == nil {
		p.stmts = make(map[string]*sql.Stmt)
	}
	p.stmts[query] = stmt // one that was faster goes on until its connections close
	p.mu.Unlock()
	return stmt.QueryContext(ctx, args...)
}
