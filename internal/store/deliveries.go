package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// UpsertDelivery inserts a delivery and sets its ID, or updates it if its state is still the one it was read with.
// Otherwise the error is ErrStale and nothing is written; but that it was delivered is always written.
func (tx *Tx) UpsertDelivery(d *model.Delivery) error {
	put := tx.updateDelivery
	if d.Read.IsZero() {
		put = tx.insertDelivery
	}
	written, err := put(d)
	switch {
	case err != nil:
		return err
	case !written:
		return ErrStale
	case (d.Outcome == model.Failed || d.Outcome == model.Expired) && d.Reason != ErasedReason:
		tx.CountEvent(model.ExportsFailed, d.Tenant, d.Integration, d.UpdatedAt)
	}
	return nil
}

func (tx *Tx) insertDelivery(d *model.Delivery) (bool, error) {
	return tx.sql.Scan([]any{&d.ID}, `
		INSERT INTO deliveries (export_id, tenant, integration, round, outcome, fault, reason, attempts, parked,
		held_since, next_at, created_at, updated_at, documents, asked_at, status)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT (export_id, integration, round) DO UPDATE
		SET outcome = excluded.outcome, fault = excluded.fault, reason = excluded.reason,
			attempts = excluded.attempts, parked = excluded.parked, held_since = excluded.held_since,
			next_at = excluded.next_at, updated_at = excluded.updated_at,
			documents = excluded.documents, asked_at = excluded.asked_at, status = excluded.status
			WHERE excluded.outcome = 'delivered' AND deliveries.outcome <> 'delivered'
				OR deliveries.outcome = 'pending' AND deliveries.attempts = 0
		RETURNING id`,
		d.ExportID, d.Tenant, d.Integration, d.Round, string(d.Outcome), string(d.Fault), d.Reason, d.Attempts,
		d.Parked,
		rows.Micros(d.HeldSince), rows.Micros(d.NextAt), rows.Micros(d.CreatedAt), rows.Micros(d.UpdatedAt), string(d.Documents),
		rows.Micros(d.AskedAt), d.Status)
}

func (tx *Tx) updateDelivery(d *model.Delivery) (bool, error) {
	return tx.sql.Changed(`
		UPDATE deliveries SET outcome = $1, fault = $2, reason = $3, attempts = $4, parked = $5, held_since = $6,
		next_at = $7, updated_at = $8, documents = $9, asked_at = $10, status = $11
		WHERE id = $12 AND (round = $13 AND updated_at = $14 AND outcome IN ('pending', 'retrying', 'held')
			OR $1 = 'delivered' AND outcome <> 'delivered')`,
		string(d.Outcome), string(d.Fault), d.Reason, d.Attempts, d.Parked, rows.Micros(d.HeldSince), rows.Micros(d.NextAt),
		rows.Micros(d.UpdatedAt), string(d.Documents), rows.Micros(d.AskedAt), d.Status,
		d.ID, d.Round, rows.Micros(d.Read))
}

// LockDelivery reads a delivery that UpsertDelivery found stale, in whichever round it is by now, and locks its row
// until the transaction ends.
func (tx *Tx) LockDelivery(d *model.Delivery) (*model.Delivery, error) {
	where, args := `id = $1`, []any{d.ID}
	if d.Read.IsZero() {
		where, args = `export_id = $1 AND integration = $2 AND round = $3`, []any{d.ExportID, d.Integration, d.Round}
	}
	var standing model.Delivery
	found, err := tx.sql.Scan(fields(&standing), `UPDATE deliveries SET attempts = attempts WHERE `+where+`
		RETURNING `+deliveryColumns, args...)
	if err == nil && !found {
		err = ErrNotFound
	}
	standing.Read = standing.UpdatedAt
	return &standing, err
}

// AskDelivery notes that somebody asked for the next attempt of a delivery. Nothing is noted of one that is final.
func (tx *Tx) AskDelivery(d *model.Delivery, now time.Time) error {
	return tx.sql.Run(`UPDATE deliveries SET asked_at = $1 WHERE export_id = $2 AND integration = $3 AND round = $4
		AND outcome IN ('pending', 'retrying', 'held')`, rows.Micros(now), d.ExportID, d.Integration, d.Round)
}

// MarkBegunBy notes who asked for the round of a delivery, as the audit has them.
func (tx *Tx) MarkBegunBy(actor string, exportID int64, round int, integration string) error {
	return tx.sql.Run(`UPDATE deliveries SET begun_by = $1 WHERE export_id = $2 AND round = $3 AND integration = $4`,
		actor, exportID, round, integration)
}

// CountManualAttempts counts the attempts of a delivery that somebody asked for, after the first one.
func (db *DB) CountManualAttempts(ctx context.Context, deliveryID int64) (int, error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int],
		`SELECT count(*) FROM attempts WHERE delivery_id = $1 AND number > 1 AND manual`, deliveryID)
}

// UpdateAttempts sets a delivery's number of attempts and its status, after two were made at once.
func (tx *Tx) UpdateAttempts(d *model.Delivery) error {
	return tx.sql.Run(`UPDATE deliveries SET attempts = $1, status = $2 WHERE id = $3`, d.Attempts, d.Status, d.ID)
}

// InsertAttempt inserts an attempt of a delivery, which the transaction has written or locked before, and sets its
// number, from 1. It stores no answer if the export's content was erased meanwhile.
func (tx *Tx) InsertAttempt(a *model.Attempt) error {
	answer, sealed := joinAnswer(a), []byte(nil)
	if len(answer) > 0 {
		var err error
		if sealed, err = tx.db.dataKeys.seal(receiversAnswer, answerRow(a), answer); err != nil {
			return err
		}
	}
	if sealed != nil {
		answer = nil
	}
	var erased bool
	_, err := tx.sql.Scan([]any{&a.Number, &erased}, `
		INSERT INTO attempts (delivery_id, number, started_at, duration, status, error, answer, sealed,
			address, dns, connect, tls, first_byte, manual)
		SELECT $1, count(*) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM attempts WHERE delivery_id = $1
		RETURNING number, EXISTS (SELECT 1 FROM deliveries d JOIN exports e ON e.id = d.export_id WHERE d.id = $1
		AND e.erased_at IS NOT NULL)`,
		a.DeliveryID, rows.Micros(a.StartedAt), a.Duration.Microseconds(), a.Status, a.Error, answer, sealed,
		a.Address, a.Phases.DNS.Microseconds(), a.Phases.Connect.Microseconds(), a.Phases.TLS.Microseconds(),
		a.Phases.FirstByte.Microseconds(), a.Manual)
	if err != nil || !erased {
		return err
	}
	a.Answer, a.Header = nil, nil
	return tx.sql.Run(`UPDATE attempts SET answer = NULL, sealed = NULL WHERE delivery_id = $1 AND number = $2`,
		a.DeliveryID, a.Number)
}

// HasAttempt reports whether a delivery has an attempt that started at a time.
func (tx *Tx) HasAttempt(deliveryID int64, started time.Time) (bool, error) {
	var has bool
	_, err := tx.sql.Scan([]any{&has}, `SELECT EXISTS (SELECT 1 FROM attempts WHERE delivery_id = $1 AND started_at = $2)`,
		deliveryID, rows.Micros(started))
	return has, err
}

// joinAnswer is an answer as it is stored: the lines of its header, an empty line, and its body. Nil: there was none.
func joinAnswer(a *model.Attempt) []byte {
	if len(a.Header) == 0 && len(a.Answer) == 0 {
		return nil
	}
	return slices.Concat(a.Header, []byte("\n"), a.Answer)
}

// splitAnswer takes an answer apart that is as it is stored.
func splitAnswer(a *model.Attempt) {
	if len(a.Answer) == 0 {
		return
	}
	if a.Answer[0] == '\n' {
		a.Answer = a.Answer[1:]
		return
	}
	end := bytes.Index(a.Answer, []byte("\n\n")) + 1
	a.Header, a.Answer = a.Answer[:end:end], a.Answer[end+1:]
}

// answerRow identifies an attempt by its start: its number is known only once it is inserted.
func answerRow(a *model.Attempt) string {
	return fmt.Sprint(a.DeliveryID, "/", a.StartedAt.UnixMicro())
}

const deliveryColumns = `id, export_id, tenant, integration, round, outcome, fault, reason, attempts, parked,
	held_since, next_at, created_at, updated_at, documents, asked_at, begun_by, coalesce(redelivery, ''), status`

func scanDelivery(r row) (*model.Delivery, error) {
	var d model.Delivery
	err := r.Scan(fields(&d)...)
	d.Read = d.UpdatedAt
	return &d, err
}

// fields returns the destinations of a delivery's columns.
func fields(d *model.Delivery) []any {
	return []any{&d.ID, &d.ExportID, &d.Tenant, &d.Integration, &d.Round, &d.Outcome, &d.Fault, &d.Reason, &d.Attempts,
		&d.Parked,
		rows.Time(&d.HeldSince), rows.Time(&d.NextAt), rows.Time(&d.CreatedAt), rows.Time(&d.UpdatedAt), &d.Documents,
		rows.Time(&d.AskedAt), &d.BegunBy, &d.Redelivery, &d.Status}
}

// Delivery reads the delivery of an export to an integration in a round.
func (db *DB) Delivery(ctx context.Context, exportID int64, integration string, round int) (*model.Delivery, error) {
	return rows.QueryOne(ctx, db.reads, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE export_id = $1
		AND integration = $2 AND round = $3`,
		exportID, integration, round)
}

const deliveriesOfExport = `SELECT ` + deliveryColumns + ` FROM deliveries WHERE export_id = $1
	ORDER BY round, integration`

// ListDeliveries reads all deliveries of an export, by round and integration.
func (db *DB) ListDeliveries(ctx context.Context, exportID int64) ([]*model.Delivery, error) {
	return rows.Query(ctx, db.reads, scanDelivery, deliveriesOfExport, exportID)
}

// ListDeliveriesOf reads the deliveries of a page of exports, at most MaxPage: those of each export by round and
// integration.
func (db *DB) ListDeliveriesOf(ctx context.Context, exportIDs []int64) (map[int64][]*model.Delivery, error) {
	if len(exportIDs) == 0 {
		return nil, nil
	}
	in, args := oneOf(exportIDs)
	all, err := rows.Query(ctx, db.reads, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE export_id IN (`+in+`) ORDER BY export_id, round, integration`, args...)
	if err != nil {
		return nil, err
	}
	byExport := map[int64][]*model.Delivery{}
	for _, d := range all {
		byExport[d.ExportID] = append(byExport[d.ExportID], d)
	}
	return byExport, nil
}

// LastStatuses reads the HTTP statuses of the last attempts of deliveries. Those that were not attempted, or got no
// answer, are left out.
func (db *DB) LastStatuses(ctx context.Context, deliveries []int64) (map[int64]int, error) {
	all := map[int64]int{}
	for ids := range slices.Chunk(deliveries, MaxPage) {
		in, args := oneOf(ids)
		page, err := rows.QueryMap(ctx, db.reads, func(r row) (id int64, status int, err error) {
			err = r.Scan(&id, &status)
			return id, status, err
		}, `SELECT a.delivery_id, a.status FROM attempts a WHERE a.delivery_id IN (`+in+`) AND a.status <> 0
			AND NOT EXISTS (SELECT 1 FROM attempts b WHERE b.delivery_id = a.delivery_id AND b.number > a.number)`,
			args...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, page)
	}
	return all, nil
}

// notQuarantined leaves out the deliveries of exports that wait for a person, not for an integration. It is no NOT EXISTS:
// PostgreSQL would compare each delivery with all exports in quarantine when it takes those for few.
const notQuarantined = `NOT (SELECT e.quarantined FROM exports e WHERE e.id = deliveries.export_id)`

// ListHeldDeliveries lists the held deliveries to an integration by export, after an export ID.
func (db *DB) ListHeldDeliveries(ctx context.Context, tenant, integration string, after int64,
	limit int) ([]*model.Delivery, error) {
	return rows.Query(ctx, db.reads, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE tenant = $1 AND integration = $2 AND outcome = 'held' AND export_id > $3 AND `+notQuarantined+`
		ORDER BY export_id LIMIT $4`, tenant, integration, after, limit)
}

// latestAttempts is how many attempts of a delivery are read: each has up to 64 KiB of an answer, and a short retry
// schedule makes thousands of them.
const latestAttempts = 100

// ListAttempts reads the attempts of a delivery, the first one first: of more than 100 the last 100.
func (db *DB) ListAttempts(ctx context.Context, deliveryID int64) ([]model.Attempt, error) {
	all, err := db.attempts(ctx, `delivery_id = $1 ORDER BY number DESC LIMIT $2`, deliveryID, latestAttempts)
	slices.Reverse(all)
	return all, err
}

// ListEarlierAttempts reads the 100 attempts of a delivery before that of a number, or what there are of them, the last
// one first.
func (db *DB) ListEarlierAttempts(ctx context.Context, deliveryID int64, number int) ([]model.Attempt, error) {
	return db.attempts(ctx, `delivery_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3`, deliveryID, number,
		latestAttempts)
}

// lastAttempts reads the last attempt of each of some deliveries, of which there is at least one.
func (db *DB) lastAttempts(ctx context.Context, deliveries []int64) ([]model.Attempt, error) {
	in, args := oneOf(deliveries)
	return db.attempts(ctx, `delivery_id IN (`+in+`) AND number = (SELECT attempts FROM deliveries WHERE id = delivery_id)`, args...)
}

// attempts reads attempts with their answers.
func (db *DB) attempts(ctx context.Context, where string, args ...any) ([]model.Attempt, error) {
	var sealed [][]byte
	all, err := rows.Query(ctx, db.reads, func(r row) (a model.Attempt, err error) {
		var took, dns, connect, tls, firstByte int64
		var answer []byte
		err = r.Scan(&a.DeliveryID, &a.Number, rows.Time(&a.StartedAt), &took, &a.Status, &a.Error, &a.Answer, &answer,
			&a.Address, &dns, &connect, &tls, &firstByte, &a.Manual)
		a.Duration = time.Duration(took) * time.Microsecond
		for _, phase := range []struct {
			to    *time.Duration
			micro int64
		}{{&a.Phases.DNS, dns}, {&a.Phases.Connect, connect}, {&a.Phases.TLS, tls}, {&a.Phases.FirstByte, firstByte}} {
			*phase.to = time.Duration(phase.micro) * time.Microsecond
		}
		sealed = append(sealed, answer)
		return a, err
	}, `SELECT delivery_id, number, started_at, duration, status, error, answer, sealed,
			address, dns, connect, tls, first_byte, manual FROM attempts
		WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	for n, answer := range sealed {
		if answer != nil {
			if all[n].Answer, err = db.openPart(ctx, receiversAnswer, answerRow(&all[n]), answer); err != nil {
				return nil, err
			}
		}
		splitAnswer(&all[n])
	}
	return all, nil
}

// UpdateDeliveryRound moves a delivery whose workflow has ended to another round. It reports false when the delivery
// was changed since it was read.
func (tx *Tx) UpdateDeliveryRound(d *model.Delivery, round int, now time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE deliveries SET parked = $1, round = $2, held_since = NULL, updated_at = $3
		WHERE export_id = $4 AND integration = $5 AND round = $6 AND outcome = $7 AND parked = $8 AND updated_at = $9`,
		false, round, rows.Micros(now), d.ExportID, d.Integration, d.Round, string(d.Outcome), d.Parked, rows.Micros(d.UpdatedAt))
}

// ListHeldPlaces lists the integrations that have held deliveries, parked or not, without those of exports in quarantine: a
// step in the index for each, however many it has.
func (db *DB) ListHeldPlaces(ctx context.Context) (places []model.Place, err error) {
	first := func(where string, args ...any) (model.Place, error) {
		return rows.QueryOne(ctx, db.reads, scanPlace, `SELECT tenant, integration FROM deliveries
			WHERE held_since IS NOT NULL AND `+where+` AND `+notQuarantined+` ORDER BY tenant, integration LIMIT 1`, args...)
	}
	for at := (model.Place{}); ; places = append(places, at) {
		after := at // SQLite would step through all of a tenant for (tenant, integration) > ($1, $2)
		at, err = first(`tenant = $1 AND integration > $2`, after.Tenant, after.Integration)
		if errors.Is(err, ErrNotFound) {
			at, err = first(`tenant > $1`, after.Tenant)
		}
		if errors.Is(err, ErrNotFound) {
			return places, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Counted counts exports of a tenant that need a person.
type Counted struct {
	Count int64
	Since time.Time // when the first of them was found
}

func scanCounted(r row) (tenant string, c Counted, err error) {
	err = r.Scan(&tenant, &c.Count, rows.Time(&c.Since))
	return tenant, c, err
}

// CountQuarantined counts the exports in quarantine of each tenant that has any.
func (db *DB) CountQuarantined(ctx context.Context) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted,
		`SELECT tenant, count(*), min(received_at) FROM exports WHERE quarantined GROUP BY tenant`)
}

// CountFaulty counts the exports of each tenant that have a fault, without those that were erased, and without triggered
// ones that ended before a time.
func (db *DB) CountFaulty(ctx context.Context, since time.Time) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted, `SELECT tenant, count(*), min(received_at) FROM exports
		WHERE fault <> '' AND erased_at IS NULL AND (origin <> 'triggered' OR documents_till > $1) GROUP BY tenant`,
		rows.Micros(since))
}

// CountUnaddressed counts the exports of each tenant that it had no integration for, without those that were erased.
func (db *DB) CountUnaddressed(ctx context.Context) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted, `SELECT d.tenant, count(*), min(d.created_at) FROM deliveries d
		JOIN exports e ON e.id = d.export_id WHERE d.integration = '' AND e.erased_at IS NULL GROUP BY d.tenant`)
}

// CountUnreadable counts the exports of each tenant that were found since a time to be unreadable, and were neither
// erased nor redelivered then.
func (db *DB) CountUnreadable(ctx context.Context, since time.Time) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted, `SELECT d.tenant, count(DISTINCT d.export_id), min(d.updated_at)
		FROM deliveries d JOIN exports e ON e.id = d.export_id
		WHERE d.outcome = 'failed' AND d.updated_at >= $1 AND d.reason = $2 AND d.round = e.round AND e.erased_at IS NULL
		GROUP BY d.tenant`, rows.Micros(since), UnreadableReason)
}

// FailDeliveries fails up to 500 deliveries to a removed integration that are not final, and returns how many. Call it
// until it returns
// 0.
func (tx *Tx) FailDeliveries(tenant, integration, reason string, now time.Time) (int64, error) {
	return tx.sql.Exec(`
		UPDATE deliveries SET outcome = 'failed', fault = 'partner_fault', reason = $1, parked = $2, held_since = NULL,
		next_at = NULL, updated_at = $3
		WHERE id IN (SELECT id FROM deliveries WHERE tenant = $4 AND integration = $5
		AND outcome IN ('pending', 'retrying', 'held') LIMIT 500)
			AND outcome IN ('pending', 'retrying', 'held')`, // once more: another node may have ended it since
		reason, false, rows.Micros(now), tenant, integration)
}
