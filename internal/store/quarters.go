package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// QuarterLength is the length of a Quarter.
const QuarterLength = 15 * time.Minute

// Quarter sums up a quarter of an hour of a tenant, or of all.
type Quarter struct {
	Begin     time.Time
	Received  int64         // exports that came or began here
	Delivered int64         // attempts that were received
	Waiting   int64         // deliveries that waited at once, at most
	Oldest    time.Duration // that the oldest of them waited, at most
}

// quarterOf identifies a quarter of a tenant; without one it has what waited of all tenants.
type quarterOf struct {
	tenant string
	begin  time.Time
}

// NoteQuarter notes what came and waited in a quarter. What is noted may be noted again, by any node: the most counts.
// Delivered is left out, because CountAttempt counts it. An empty tenant is for what waits of all.
func (tx *Tx) NoteQuarter(tenant string, q Quarter) {
	q.Delivered = 0
	noted := tx.healthBatch().quarter(tenant, q.Begin)
	noted.Received, noted.Waiting = max(noted.Received, q.Received), max(noted.Waiting, q.Waiting)
	noted.Oldest = max(noted.Oldest, q.Oldest)
}

// quarter returns the quarter of a tenant that a time is in, as the transaction adds to it.
func (b *healthBatch) quarter(tenant string, at time.Time) *Quarter {
	key := quarterOf{tenant, at.UTC().Truncate(QuarterLength)}
	if b.quarters[key] == nil {
		b.quarters[key] = &Quarter{Begin: key.begin}
	}
	return b.quarters[key]
}

// quarterWrites adds to the quarters, in an order that keeps nodes from a deadlock.
func (b *healthBatch) quarterWrites() (all []func(*database.Tx) error) {
	for _, at := range slices.SortedFunc(maps.Keys(b.quarters), func(x, y quarterOf) int {
		return cmp.Or(strings.Compare(x.tenant, y.tenant), x.begin.Compare(y.begin))
	}) {
		all = append(all, func(tx *database.Tx) error {
			q := b.quarters[at]
			if err := tx.Run(addToQuarter, at.tenant, rows.Micros(q.Begin), q.Received, q.Delivered, q.Waiting,
				q.Oldest.Microseconds()); err != nil {
				return fmt.Errorf("writing a quarter of an hour: %w", err)
			}
			return nil
		})
	}
	return all
}

var addToQuarter = func() string {
	most := func(column string) string {
		return fmt.Sprintf("%[1]s = CASE WHEN excluded.%[1]s > q.%[1]s THEN excluded.%[1]s ELSE q.%[1]s END", column)
	}
	return `INSERT INTO quarters AS q (tenant, quarter, received, delivered, waiting, oldest)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, quarter) DO UPDATE SET
		delivered = q.delivered + excluded.delivered, ` + most("received") + `, ` + most("waiting") + `, ` + most("oldest")
}()

// ListQuarters reads the quarters of a tenant from a time on in which there was anything, the first one first. An empty
// tenant means all together.
func (db *DB) ListQuarters(ctx context.Context, tenant string, since time.Time) ([]Quarter, error) {
	where, args := `quarter >= $1`, []any{rows.Micros(since.Truncate(QuarterLength))}
	if tenant != "" {
		where, args = where+` AND tenant = $2`, append(args, tenant)
	}
	return rows.Query(ctx, db.reads, func(r row) (q Quarter, err error) {
		var oldest int64
		err = r.Scan(rows.Time(&q.Begin), &q.Received, &q.Delivered, &q.Waiting, &oldest)
		q.Oldest = time.Duration(oldest) * time.Microsecond
		return q, err
	}, `SELECT quarter, CAST(sum(received) AS BIGINT), CAST(sum(delivered) AS BIGINT), max(waiting), max(oldest)
		FROM quarters WHERE `+where+` GROUP BY quarter ORDER BY quarter`, args...)
}

// LastQuarter returns the begin of the last quarter of which something is stored; zero: there is none.
func (db *DB) LastQuarter(ctx context.Context) (time.Time, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (last time.Time, err error) {
		return last, r.Scan(rows.Time(&last))
	}, `SELECT max(quarter) FROM quarters`)
}

// CountReceived counts the exports of each tenant that came, or began here, between two times.
func (db *DB) CountReceived(ctx context.Context, since, until time.Time) (map[string]int64, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (tenant string, n int64, err error) {
		return tenant, n, r.Scan(&tenant, &n)
	}, ofTenants+`SELECT each_tenant.tenant, (SELECT count(*) FROM exports e
		WHERE e.tenant = each_tenant.tenant AND e.id >= $1 AND e.id < $2) FROM each_tenant
		WHERE each_tenant.tenant IS NOT NULL`, model.FirstID(since), model.FirstID(until))
}

// DeleteQuarters deletes up to 500 quarters that ended before a time, the oldest first, and returns how many.
func (tx *Tx) DeleteQuarters(before time.Time) (int64, error) {
	return tx.sql.Exec(`DELETE FROM quarters WHERE (tenant, quarter) IN (
		SELECT tenant, quarter FROM quarters WHERE quarter < $1 ORDER BY quarter LIMIT 500)`,
		rows.Micros(before.Add(-QuarterLength)))
}

// deleteQuarters deletes the quarters of a tenant.
func (tx *Tx) deleteQuarters(tenant string) error {
	return tx.sql.Run(`DELETE FROM quarters WHERE tenant = $1`, tenant)
}
