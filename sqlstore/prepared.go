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
	stmts sync.Map // by text; *sql.Stmt
}

// QueryContext is that of a prepared statement.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s, ok := p.stmts.Load(query); ok {
		return s.(*sql.Stmt).QueryContext(ctx, args...)
	}
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, loaded := p.stmts.LoadOrStore(query, s); loaded {
		s.Close()
		s = first.(*sql.Stmt)
	}
	return s.QueryContext(ctx, args...)
}
