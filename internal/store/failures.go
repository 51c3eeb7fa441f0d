package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// Failures are deliveries that ended without being received, for the same reason.
type Failures struct {
	model.Place
	Outcome model.Outcome // failed or expired
	Class   model.Class   // of the last attempt; empty: it has none
	Status  int           // of the last attempt; 0: no answer came
	Count   int64
	// of the exports, when they were received
	Oldest, Newest time.Time
	Last           time.Time // when the last of them ended
}

// CountFailed counts the deliveries to each integration that failed or expired since a time, by class. What was redelivered
// since counts no more, and what somebody ended by erasing it never did.
func (db *DB) CountFailed(ctx context.Context, since time.Time) (map[model.Place]map[model.Class]int64, error) {
	all := map[model.Place]map[model.Class]int64{}
	err := db.reads.Query(ctx, func(r row) error {
		var at model.Place
		var class model.Class
		var n int64
		err := r.Scan(&at.Tenant, &at.Integration, &class, &n)
		if all[at] == nil {
			all[at] = map[model.Class]int64{}
		}
		all[at][class] = n
		return err
	}, `SELECT d.tenant, d.integration, CASE d.outcome WHEN 'expired' THEN 'expired' ELSE d.fault END AS class, count(*)
		FROM deliveries d WHERE d.outcome IN ('failed', 'expired') AND d.updated_at >= $1 AND d.reason <> $2 AND `+latest+`
		GROUP BY d.tenant, d.integration, class`, rows.Micros(since), ErasedReason)
	return all, err
}

// CountLostDocuments counts the exports of each tenant that came since a time, and of which a document was given up. Those
// that were erased are not among them.
func (db *DB) CountLostDocuments(ctx context.Context, since time.Time) (map[string]int64, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (tenant string, n int64, err error) {
		return tenant, n, r.Scan(&tenant, &n)
	}, `SELECT o.tenant, count(DISTINCT o.export_id) FROM documents o JOIN exports e ON e.id = o.export_id
		WHERE o.state = 'given_up' AND o.export_id >= $1 AND e.erased_at IS NULL GROUP BY o.tenant`, model.FirstID(since))
}

// MaxFailures is how many deliveries of each outcome CountFailures looks at.
const MaxFailures = 1000

// CountFailures groups the deliveries of a tenant that failed or expired since a time, the largest group first; of more
// than MaxFailures the last ones. An empty tenant means all. What was redelivered since counts no more, and what somebody
// ended by erasing it never did.
func (db *DB) CountFailures(ctx context.Context, tenant string, since time.Time) ([]Failures, error) {
	c := conditions{where: []string{"d.outcome IN ('failed', 'expired')", latest}} // the first is that of the index
	c.is("d.updated_at >=", rows.Micros(since))
	c.is("d.reason <>", ErasedReason)
	if tenant != "" {
		c.is("d.tenant =", tenant)
	}
	ended := func(outcome model.Outcome) string {
		return fmt.Sprintf(`SELECT * FROM (SELECT d.tenant, d.integration, d.outcome, d.fault, d.updated_at, e.received_at,
			coalesce((SELECT a.status FROM attempts a WHERE a.delivery_id = d.id AND a.number = d.attempts), 0) AS status
			FROM deliveries d JOIN exports e ON e.id = d.export_id%s AND d.outcome = '%s'
			ORDER BY d.updated_at DESC LIMIT %d) AS %s`, &c, outcome, MaxFailures, outcome)
	}
	all, err := rows.Query(ctx, db.reads, func(r row) (f Failures, err error) {
		return f, r.Scan(&f.Tenant, &f.Integration, &f.Outcome, &f.Class, &f.Status, &f.Count, rows.Time(&f.Oldest),
			rows.Time(&f.Newest), rows.Time(&f.Last))
	}, `SELECT tenant, integration, outcome, fault, status, count(*), min(received_at), max(received_at), max(updated_at)
		FROM (`+ended(model.Failed)+` UNION ALL `+ended(model.Expired)+`) AS ended
		GROUP BY tenant, integration, outcome, fault, status`, c.args...)
	slices.SortStableFunc(all, func(a, b Failures) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), comparePlaces(a.Place, b.Place))
	})
	return all, err
}
