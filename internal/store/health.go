package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// HealthKept is the age at which hourly counts of attempts and of refused answers are deleted.
const HealthKept = 90 * 24 * time.Hour

// placeAndHour is an hour of an integration.
type placeAndHour struct {
	model.Place
	hour time.Time
}

// healthBatch gathers the attempts of a transaction by integration, and its quarters of an hour by tenant. All closures
// of a batch share it, so that it costs two statements for each integration and one for each tenant, however many
// attempts there are; one more while the integration refuses any.
type healthBatch struct {
	hours    map[placeAndHour]*model.Tally
	health   map[model.Place]*model.Health
	attempts map[model.Place][]judged // in their order
	quarters map[quarterOf]*Quarter
}

// judged is an attempt as far as the refusals of an integration are concerned.
type judged struct {
	export int64
	fault  model.Class
	status int
	ended  time.Time
}

// healthBatch returns what the closures of the transaction count.
func (tx *Tx) healthBatch() *healthBatch {
	return tx.sql.Collect("health", func() database.Collection {
		return &healthBatch{map[placeAndHour]*model.Tally{}, map[model.Place]*model.Health{},
			map[model.Place][]judged{}, map[quarterOf]*Quarter{}}
	}).(*healthBatch)
}

// CountAttempt counts an attempt for an export at an integration.
func (tx *Tx) CountAttempt(at model.Place, export int64, a *model.Attempt) {
	batch := tx.healthBatch()
	hour := placeAndHour{at, a.StartedAt.UTC().Truncate(time.Hour)}
	if batch.hours[hour] == nil {
		batch.hours[hour] = new(model.Tally)
	}
	if batch.health[at] == nil {
		batch.health[at] = new(model.Health)
	}
	batch.hours[hour].Add(a.Fault, a.Duration)
	ended := a.StartedAt.Add(a.Duration)
	batch.health[at].Add(a.Fault, a.Error, ended)
	if a.Fault == "" {
		batch.quarter(at.Tenant, ended).Delivered++
	}
	batch.attempts[at] = append(batch.attempts[at], judged{export, a.Fault, a.Status, ended})
}

// Writes implements database.Collection. Nodes update the same rows: they do so last in their transactions, and in the
// same order, so that they don't deadlock.
func (b *healthBatch) Writes() (all []func(*database.Tx) error) {
	for _, at := range slices.SortedFunc(maps.Keys(b.hours), func(x, y placeAndHour) int {
		return cmp.Or(comparePlaces(x.Place, y.Place), x.hour.Compare(y.hour))
	}) {
		all = append(all, func(tx *database.Tx) error {
			if err := tx.Run(addToHour, hourValues(at, b.hours[at])...); err != nil {
				return fmt.Errorf("counting attempts: %w", err)
			}
			return nil
		})
	}
	for _, at := range slices.SortedFunc(maps.Keys(b.health), comparePlaces) {
		all = append(all, func(tx *database.Tx) error {
			h, before := b.health[at], ""
			_, err := tx.Scan([]any{&before}, addToHealth, at.Tenant, at.Integration, rows.Micros(h.LastSuccess),
				rows.Micros(h.Recovered), h.Failures, rows.Micros(h.FailingSince), string(h.Class), h.Reason)
			if err == nil {
				err = b.addRefusals(tx, at, before)
			}
			if err != nil {
				return fmt.Errorf("writing the health of an integration: %w", err)
			}
			return nil
		})
	}
	return append(all, b.quarterWrites()...)
}

// addRefusals adds the attempts at an integration to what it refused before, whose row the transaction has locked.
// While nothing is refused there is nothing to write.
func (b *healthBatch) addRefusals(tx *database.Tx, at model.Place, before string) error {
	var r model.Refusals
	if before != "" {
		if err := json.Unmarshal([]byte(before), &r); err != nil {
			return fmt.Errorf("reading its refusals: %w", err)
		}
	}
	for _, a := range b.attempts[at] {
		r.Add(a.export, a.fault, a.status, a.ended)
	}
	after := ""
	if !r.Since.IsZero() {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		after = string(text)
	}
	if after == before {
		return nil
	}
	return tx.Run(`UPDATE integration_health SET refusals = $1 WHERE tenant = $2 AND integration = $3`, after,
		at.Tenant, at.Integration)
}

func comparePlaces(x, y model.Place) int {
	return cmp.Or(strings.Compare(x.Tenant, y.Tenant), strings.Compare(x.Integration, y.Integration))
}

// addToHealth appends what a batch says to what is known, and returns the refusals. After a success in the batch only
// the batch counts.
var addToHealth = fmt.Sprintf(`INSERT INTO integration_health AS h
	(tenant, integration, last_success_at, recovered_at, failures, failing_since, class, reason)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (tenant, integration) DO UPDATE SET
	recovered_at = CASE WHEN h.failures >= %d AND excluded.last_success_at IS NOT NULL THEN excluded.last_success_at
		ELSE coalesce(excluded.recovered_at, h.recovered_at) END,
	failures = CASE WHEN excluded.last_success_at IS NULL THEN h.failures ELSE 0 END + excluded.failures,
	failing_since = CASE WHEN excluded.last_success_at IS NULL THEN coalesce(h.failing_since, excluded.failing_since)
		ELSE excluded.failing_since END,
	class = CASE WHEN excluded.last_success_at IS NULL AND excluded.failures = 0 THEN h.class ELSE excluded.class END,
	reason = CASE WHEN excluded.last_success_at IS NULL AND excluded.failures = 0 THEN h.reason ELSE excluded.reason END,
	last_success_at = coalesce(excluded.last_success_at, h.last_success_at)
	RETURNING refusals`, model.FailingAfter)

// tallyColumns are the columns of a Tally, in the order of tallyFields.
var tallyColumns = func() []string {
	columns := []string{"attempts", "delivered", "partner_fault", "data_fault", "our_fault"}
	for _, bound := range model.TookBounds {
		columns = append(columns, fmt.Sprintf("took_%d", bound.Milliseconds()))
	}
	return columns
}()

func tallyFields(t *model.Tally) []*int64 {
	fields := []*int64{&t.Attempts, &t.Delivered, &t.PartnerFault, &t.DataFault, &t.OurFault}
	for n := range t.Took {
		fields = append(fields, &t.Took[n])
	}
	return fields
}

func hourValues(at placeAndHour, t *model.Tally) []any {
	values := []any{at.Tenant, at.Integration, rows.Micros(at.hour)}
	for _, field := range tallyFields(t) {
		values = append(values, *field)
	}
	return values
}

var addToHour = func() string {
	values, sums := []string{"$1", "$2", "$3"}, make([]string, len(tallyColumns))
	for n, column := range tallyColumns {
		values = append(values, fmt.Sprintf("$%d", n+4))
		sums[n] = fmt.Sprintf("%s = h.%s + excluded.%s", column, column, column)
	}
	return `INSERT INTO integration_hours AS h (tenant, integration, hour, ` + strings.Join(tallyColumns, ", ") + `)
		VALUES (` + strings.Join(values, ", ") + `)
		ON CONFLICT (tenant, integration, hour) DO UPDATE SET ` + strings.Join(sums, ", ")
}()

// sums adds up hours: those from a time on, if that is named by an argument.
func sums(since string) string {
	columns := make([]string, len(tallyColumns))
	for n, column := range tallyColumns {
		if since != "" {
			column = "CASE WHEN hour >= " + since + " THEN " + column + " ELSE 0 END"
		}
		columns[n] = "CAST(sum(" + column + ") AS BIGINT)"
	}
	return strings.Join(columns, ", ")
}

// ListHealth reads how the last attempts at all integrations went. One that was not attempted is left out.
func (db *DB) ListHealth(ctx context.Context) (map[model.Place]model.Health, error) {
	return rows.QueryMap(ctx, db.reads, scanHealth, selectHealth)
}

// Health reads how the last attempts at an integration went.
func (db *DB) Health(ctx context.Context, at model.Place) (model.Health, error) {
	all, err := rows.QueryMap(ctx, db.reads, scanHealth, selectHealth+` WHERE tenant = $1 AND integration = $2`,
		at.Tenant, at.Integration)
	return all[at], err
}

const selectHealth = `SELECT tenant, integration, last_success_at, recovered_at, failures, failing_since, class, reason,
	refusals FROM integration_health`

func scanHealth(r row) (at model.Place, h model.Health, err error) {
	refusals := ""
	err = r.Scan(&at.Tenant, &at.Integration, rows.Time(&h.LastSuccess), rows.Time(&h.Recovered), &h.Failures,
		rows.Time(&h.FailingSince), &h.Class, &h.Reason, &refusals)
	if err == nil && refusals != "" {
		err = json.Unmarshal([]byte(refusals), &h.Refusals)
	}
	return at, h, err
}

// Rates are the attempts at an integration of the last day and of the last seven.
type Rates struct{ Day, Week model.Tally }

// SumHours adds up the hours of all integrations, up to a time. One that was not attempted is left out.
func (db *DB) SumHours(ctx context.Context, now time.Time, places ...model.Place) (map[model.Place]Rates, error) {
	day := rows.Micros(now.Add(-24 * time.Hour).Truncate(time.Hour))
	week := rows.Micros(now.Add(-7 * 24 * time.Hour).Truncate(time.Hour))
	where, args := "", []any{week, day}
	if len(places) > 0 {
		where, args = pairsOf(places, args...)
		where = "(tenant, integration) IN (VALUES " + where + ") AND "
	}
	return rows.QueryMap(ctx, db.reads, func(r row) (at model.Place, rates Rates, err error) {
		dest := []any{&at.Tenant, &at.Integration}
		for _, t := range []*model.Tally{&rates.Week, &rates.Day} {
			for _, field := range tallyFields(t) {
				dest = append(dest, field)
			}
		}
		return at, rates, r.Scan(dest...)
	}, `SELECT tenant, integration, `+sums("")+`, `+sums("$2")+` FROM integration_hours
		WHERE `+where+`hour >= $1 GROUP BY tenant, integration`, args...)
}

// pairsOf returns the placeholders of some integrations, and the arguments of a statement: those before, and their names.
func pairsOf(places []model.Place, args ...any) (string, []any) {
	pairs := make([]string, len(places))
	for n, at := range places {
		args = append(args, at.Tenant, at.Integration)
		pairs[n] = fmt.Sprintf("($%d, $%d)", len(args)-1, len(args))
	}
	return strings.Join(pairs, ", "), args
}

// Hour counts the attempts at an integration in one hour.
type Hour struct {
	Begin time.Time
	model.Tally
}

// ListHours reads the hours of an integration from a time on, the first one first: those with attempts.
func (db *DB) ListHours(ctx context.Context, at model.Place, since time.Time) ([]Hour, error) {
	return rows.Query(ctx, db.reads, func(r row) (h Hour, err error) {
		dest := []any{rows.Time(&h.Begin)}
		for _, field := range tallyFields(&h.Tally) {
			dest = append(dest, field)
		}
		return h, r.Scan(dest...)
	}, `SELECT hour, `+strings.Join(tallyColumns, ", ")+` FROM integration_hours
		WHERE tenant = $1 AND integration = $2 AND hour >= $3 ORDER BY hour`,
		at.Tenant, at.Integration, rows.Micros(since.Truncate(time.Hour)))
}

// ListHoursOf reads the hours of some integrations from a time on, those with attempts, the first one first.
func (db *DB) ListHoursOf(ctx context.Context, places []model.Place, since time.Time) (map[model.Place][]Hour, error) {
	all := map[model.Place][]Hour{}
	if len(places) == 0 {
		return all, nil
	}
	pairs, args := pairsOf(places, rows.Micros(since.Truncate(time.Hour)))
	err := db.reads.Query(ctx, func(r row) error {
		var at model.Place
		var h Hour
		dest := []any{&at.Tenant, &at.Integration, rows.Time(&h.Begin)}
		for _, field := range tallyFields(&h.Tally) {
			dest = append(dest, field)
		}
		err := r.Scan(dest...)
		all[at] = append(all[at], h)
		return err
	}, `SELECT tenant, integration, hour, `+strings.Join(tallyColumns, ", ")+` FROM integration_hours
		WHERE (tenant, integration) IN (VALUES `+pairs+`) AND hour >= $1`, args...)
	for _, hours := range all {
		slices.SortFunc(hours, func(x, y Hour) int { return x.Begin.Compare(y.Begin) })
	}
	return all, err
}

// DeleteHours deletes up to 500 hours that ended before a time, the oldest first, and returns how many.
func (tx *Tx) DeleteHours(before time.Time) (int64, error) {
	return tx.sql.Exec(`DELETE FROM integration_hours WHERE (tenant, integration, hour) IN (
		SELECT tenant, integration, hour FROM integration_hours WHERE hour < $1 ORDER BY hour LIMIT 500)`,
		rows.Micros(before.Add(-time.Hour)))
}

// deleteHealth forgets how the attempts at an integration went that is removed: another one of its name begins afresh.
func (tx *Tx) deleteHealth(i *model.Integration) error {
	for _, table := range []string{"integration_health", "integration_hours", "catch_ups"} {
		if err := tx.sql.Run(`DELETE FROM `+table+` WHERE tenant = $1 AND integration = $2`, i.Tenant, i.Name); err != nil {
			return err
		}
	}
	return nil
}
