package database

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// checkSession fails with errPooled when a connection has no session of its own: behind a pooler in transaction mode,
// which takes the settings and locks of our sessions for its own. A pooler with nothing else to do would let it keep
// one, so another connection holds a transaction meanwhile.
func (p *postgres) checkSession(ctx context.Context, c *pgconn.PgConn) error {
	first, err := backend(ctx, c)
	if err != nil {
		return err
	}
	other, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	if _, err := other.PgConn().Exec(ctx, "BEGIN").ReadAll(); sqlState(err) == protocolViolation { // a pooler of statements
		return p.pooled()
	} else if err != nil {
		return err
	}
	held, err := backend(ctx, other.PgConn())
	if err != nil {
		return err
	}
	if held == first {
		return p.pooled()
	}
	for range 3 { // a pooler may take its sessions in turn
		if again, err := backend(ctx, c); err != nil {
			return err
		} else if again != first {
			return p.pooled()
		}
	}
	return nil
}

func (p *postgres) pooled() error {
	return fmt.Errorf("what answers at %s is a connection pooler that gives each transaction another session: set its "+
		"pool_mode to session for the database %s, or write host and port of the PostgreSQL behind it: %w", p.server,
		p.config.Database, errPooled)
}

// backend returns the number of the server's process that runs the statements of a connection. It prepares nothing: a
// pooler may run that elsewhere.
func backend(ctx context.Context, c *pgconn.PgConn) (string, error) {
	results, err := c.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return "", fmt.Errorf("asking for the server's process: %d results", len(results))
	}
	return string(results[0].Rows[0][0]), nil
}
