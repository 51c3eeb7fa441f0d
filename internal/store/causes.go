package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// Cause is a reason why attempts at an integration were not received: the status of the answer, or what kept an answer
// from coming.
type Cause struct {
	Status      int // 0: no answer came
	Error       string
	Attempts    int64
	Exports     int64 // that these attempts were made for
	First, Last time.Time
	Sample      model.Attempt // the last one, with its answer
	SampleKey   string        // of its export
}

const (
	// MaxCauses is how many causes ListCauses returns.
	MaxCauses = 20
	// maxCauseAttempts is how many attempts ListCauses looks at.
	maxCauseAttempts = 5000
)

// troubled is the condition on a delivery d that an attempt of it was not received.
const troubled = `(d.attempts > 1 OR d.attempts = 1 AND d.outcome <> 'delivered')`

// ListCauses groups the attempts at an integration since a time that were not received, retries included, the cause of
// the last one first. It looks at 5,000 attempts, those of the deliveries that changed last. more reports that there are
// more of them, or more than MaxCauses causes.
func (db *DB) ListCauses(ctx context.Context, at model.Place, since time.Time) (causes []*Cause, more bool, err error) {
	type attempt struct {
		model.Attempt
		export int64
	}
	attempts, err := rows.Query(ctx, db.reads, func(r row) (a attempt, err error) {
		return a, r.Scan(&a.export, &a.DeliveryID, &a.Number, rows.Time(&a.StartedAt), &a.Status, &a.Error)
	}, `SELECT d.export_id, a.delivery_id, a.number, a.started_at, a.status, a.error
		FROM deliveries d JOIN attempts a ON a.delivery_id = d.id
		WHERE d.tenant = $1 AND d.integration = $2 AND d.updated_at >= $3 AND `+troubled+`
			AND a.started_at >= $3 AND a.error <> ''
		ORDER BY d.updated_at DESC LIMIT $4`, at.Tenant, at.Integration, rows.Micros(since), maxCauseAttempts+1)
	if err != nil {
		return nil, false, err
	}
	if len(attempts) > maxCauseAttempts {
		attempts, more = attempts[:maxCauseAttempts], true
	}
	type key struct {
		status int
		error  string
	}
	found, exports := map[key]*Cause{}, map[key]map[int64]bool{}
	for _, a := range attempts {
		cause := key{a.Status, a.Error}
		c := found[cause]
		if c == nil {
			c = &Cause{Status: a.Status, Error: a.Error, First: a.StartedAt}
			causes, found[cause], exports[cause] = append(causes, c), c, map[int64]bool{}
		}
		exports[cause][a.export] = true
		c.Attempts, c.Exports = c.Attempts+1, int64(len(exports[cause]))
		if a.StartedAt.Before(c.First) {
			c.First = a.StartedAt
		}
		if a.StartedAt.After(c.Last) {
			c.Last, c.Sample = a.StartedAt, a.Attempt
		}
	}
	slices.SortStableFunc(causes, func(a, b *Cause) int { return b.Last.Compare(a.Last) })
	if len(causes) > MaxCauses {
		causes, more = causes[:MaxCauses], true
	}
	for _, c := range causes {
		if err := db.loadSample(ctx, c); err != nil {
			return nil, false, err
		}
	}
	return causes, more, nil
}

// loadSample reads the sample of a cause, which retention may have deleted meanwhile.
func (db *DB) loadSample(ctx context.Context, c *Cause) error {
	all, err := db.attempts(ctx, `delivery_id = $1 AND number = $2`, c.Sample.DeliveryID, c.Sample.Number)
	if err != nil || len(all) == 0 {
		return err
	}
	c.Sample = all[0]
	keys, err := rows.Query(ctx, db.reads, rows.Value[string], `SELECT e.key FROM exports e
		JOIN deliveries d ON d.export_id = e.id WHERE d.id = $1`, c.Sample.DeliveryID)
	if err == nil && len(keys) > 0 {
		c.SampleKey = keys[0]
	}
	return err
}

// ListLastFailures reads the last attempt at each of some integrations that was not received and whose delivery was not
// attempted since, with its answer.
func (db *DB) ListLastFailures(ctx context.Context, places []model.Place) (map[model.Place]model.Attempt, error) {
	all := map[model.Place]model.Attempt{}
	for some := range slices.Chunk(places, MaxPage) {
		pairs, args := pairsOf(some)
		last, err := rows.QueryMap(ctx, db.reads, func(r row) (id int64, at model.Place, err error) {
			return id, at, r.Scan(&at.Tenant, &at.Integration, &id)
		}, `SELECT tenant, integration, coalesce((SELECT d.id FROM deliveries d WHERE d.tenant = h.tenant
				AND d.integration = h.integration AND `+troubled+` AND d.fault <> '' ORDER BY d.updated_at DESC LIMIT 1), 0)
			FROM integration_health h WHERE (tenant, integration) IN (VALUES `+pairs+`)`, args...)
		if err != nil {
			return nil, err
		}
		delete(last, 0)
		if len(last) == 0 {
			continue
		}
		attempts, err := db.lastAttempts(ctx, slices.Collect(maps.Keys(last)))
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			all[last[a.DeliveryID]] = a
		}
	}
	return all, nil
}
