package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// MaxUnfetched is how many documents ListUnfetched and CountLost look at: the first ones that are lost, and the last that were.
const MaxUnfetched = 10_000

// CountUnfetched counts the documents that are still to be fetched, and those of them that are late; till is when the first
// of their URLs ends, zero without any. Exports have rising IDs, and the documents of the one that came first end first.
func (db *DB) CountUnfetched(ctx context.Context) (n, late int64, till time.Time, err error) {
	n, err = rows.QueryOne(ctx, db.reads, func(r row) (n int64, err error) {
		return n, r.Scan(&n, &late, rows.Time(&till))
	}, `SELECT w.n, w.late, e.documents_till
		FROM (SELECT count(*) AS n, coalesce(sum(CASE WHEN tries > 0 THEN 1 ELSE 0 END), 0) AS late, min(export_id) AS first
			FROM documents WHERE state = 'fetching') w
		LEFT JOIN exports e ON e.id = w.first`)
	return n, late, till, err
}

// Unfetched counts documents that are still to be fetched.
type Unfetched struct {
	Count, Late   int64     // late ones were tried in vain
	Till          time.Time // when the first of their URLs ends
	Since, LostAt time.Time // when the export of the first late one came, and when that is lost; zero: none is late
}

// ListUnfetched counts the documents of each tenant that are still to be fetched; a tenant chooses its own. more reports that
// there are more than MaxUnfetched, of which it counts those that are lost first.
func (db *DB) ListUnfetched(ctx context.Context, tenant string) (of map[string]Unfetched, more bool, err error) {
	c := conditions{where: []string{"state = 'fetching'"}}
	if tenant != "" {
		c.is("tenant =", tenant)
	}
	var all int64
	of, err = rows.QueryMap(ctx, db.reads, func(r row) (tenant string, u Unfetched, err error) {
		err = r.Scan(&tenant, &u.Count, &u.Late, rows.Time(&u.Till), rows.Time(&u.Since), rows.Time(&u.LostAt))
		all += u.Count
		return tenant, u, err
	}, fmt.Sprintf(`SELECT w.tenant, w.n, w.late, e.documents_till, l.received_at, l.documents_till FROM (
			SELECT tenant, count(*) AS n, sum(CASE WHEN tries > 0 THEN 1 ELSE 0 END) AS late, min(export_id) AS first,
				min(CASE WHEN tries > 0 THEN export_id END) AS first_late
			FROM (SELECT tenant, tries, export_id FROM documents%s ORDER BY export_id LIMIT %d) counted
			GROUP BY tenant) w
		LEFT JOIN exports e ON e.id = w.first LEFT JOIN exports l ON l.id = w.first_late`, &c, MaxUnfetched), c.args...)
	return of, all >= MaxUnfetched, err
}

// Lost counts documents that can't be fetched any more, by whose fault that is.
type Lost struct{ Service, Ours int64 }

// CountLost counts the documents of each tenant that were lost since a time, or the last MaxUnfetched of them; a tenant
// chooses its own. Those of exports that were erased are not among them.
func (db *DB) CountLost(ctx context.Context, tenant string, since time.Time) (map[string]Lost, error) {
	c := conditions{where: []string{"o.state = 'given_up'", "e.erased_at IS NULL"}}
	c.is("o.export_id >=", model.FirstID(since.Add(-model.DocumentWindow)))
	c.is("o.lost_at >=", rows.Micros(since))
	if tenant != "" {
		c.is("o.tenant =", tenant)
	}
	return rows.QueryMap(ctx, db.reads, func(r row) (tenant string, l Lost, err error) {
		return tenant, l, r.Scan(&tenant, &l.Ours, &l.Service)
	}, fmt.Sprintf(`SELECT tenant, sum(CASE WHEN our_fault THEN 1 ELSE 0 END), sum(CASE WHEN our_fault THEN 0 ELSE 1 END)
		FROM (SELECT o.tenant, o.our_fault FROM documents o JOIN exports e ON e.id = o.export_id%s
			ORDER BY o.export_id DESC LIMIT %d) counted GROUP BY tenant`, &c, MaxUnfetched), c.args...)
}

// HurryDocuments makes the documents of an export due that are still to be fetched, and returns how many there are.
func (tx *Tx) HurryDocuments(exportID int64) (n int64, err error) {
	return tx.sql.Exec(`UPDATE documents SET next_at = NULL WHERE export_id = $1
		AND state || '' = 'fetching'`, exportID) // keeps from the index of all that are being fetched
}
