package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// LogoutClient is an application that is told of ended sessions at an issuer. Package access adds what it is told to the
// notifications, in the transaction that ends the session.
type LogoutClient struct{ Issuer, Client string }

// DueLogoutClients lists the applications to be told something now, of some issuers, the longest due first.
func (db *DB) DueLogoutClients(ctx context.Context, issuers []string, now time.Time, limit int) ([]LogoutClient, error) {
	args, in := []any{rows.Micros(now), limit}, make([]string, len(issuers))
	for n, issuer := range issuers {
		args, in[n] = append(args, issuer), fmt.Sprintf("$%d", n+3)
	}
	return rows.Query(ctx, db.reads, func(r row) (c LogoutClient, err error) {
		return c, r.Scan(&c.Issuer, &c.Client)
	}, `SELECT subscriber, client FROM notifications WHERE client <> '' AND next_at <= $1
		AND subscriber IN (`+strings.Join(in, ", ")+`) GROUP BY subscriber, client ORDER BY MIN(next_at) LIMIT $2`, args...)
}

// NextLogout reads what an application is told next; ErrNotFound when nothing is due. What was tried least comes first, so
// that one session that it does not accept delays no other.
func (db *DB) NextLogout(ctx context.Context, to LogoutClient, now time.Time) (*model.Notification, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (*model.Notification, error) {
		n := &model.Notification{Subscriber: to.Issuer, Client: to.Client}
		var body string
		err := r.Scan(&n.ID, &n.Event, &body, &n.Attempts, rows.Time(&n.CreatedAt), rows.Time(&n.NextAt), rows.Time(&n.Till))
		n.Body = []byte(body)
		return n, err
	}, `SELECT id, event, body, attempts, created_at, next_at, till FROM notifications WHERE client <> '' AND client = $1
		AND subscriber = $2 AND next_at <= $3 ORDER BY attempts, next_at, id LIMIT 1`, to.Client, to.Issuer, rows.Micros(now))
}

// PostponeLogouts lets nothing be due for an application before a time.
func (tx *Tx) PostponeLogouts(to LogoutClient, next time.Time) error {
	return tx.sql.Run(`UPDATE notifications SET next_at = $1 WHERE client <> '' AND client = $2 AND subscriber = $3
		AND next_at < $1`, rows.Micros(next), to.Client, to.Issuer)
}

// FailingLogouts counts, by application, the ended sessions that it was told of several times without an answer that
// accepts it.
func (db *DB) FailingLogouts(ctx context.Context, attempts int) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted, `SELECT client, COUNT(*), MIN(created_at) FROM notifications WHERE client <> '' AND attempts >= $1 GROUP BY client`,
		attempts)
}
