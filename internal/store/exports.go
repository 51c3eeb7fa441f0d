package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// AcceptedExport is an export that was accepted before.
type AcceptedExport struct {
	ID         int64
	SHA256     [sha256.Size]byte
	Receipt    string
	ReceivedAt time.Time
}

// InsertExport adds an export, which has its ID, with its body. It reports false, and changes nothing, when the tenant
// has an export of that key already; AcceptedExport then tells which.
func (tx *Tx) InsertExport(e *model.Export) (bool, error) {
	n, err := tx.sql.Exec(`
		INSERT INTO exports (id, tenant, key, keyed, origin, sha256, size, candidate_id, attachments, receipt,
		received_at,
			documents_till, deliver_till, round, integrations, workflow_id, dispatched_at, dispatch_after, fault,
			quarantined, findings, hops, traceparent)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, NULL, $11, '', $17, $18, $19,
			NULLIF($20, ''))
		ON CONFLICT DO NOTHING`,
		e.ID, e.Tenant, e.Key, e.Keyed, string(e.Origin), e.SHA256[:], e.Size, e.CandidateID, e.Attachments, e.Receipt,
		rows.Micros(e.ReceivedAt),
		rows.Micros(e.DocumentsTill), rows.Micros(e.DeliverTill), e.Round, joined(e.Integrations), e.WorkflowID, e.Quarantined,
		e.Findings, e.Hops, e.Traceparent)
	if err != nil || n == 0 {
		return false, err
	}
	err = tx.insertBody(e)
	return err == nil, err
}

// insertBody keeps the body of an export, and the headers it came with.
func (tx *Tx) insertBody(e *model.Export) error {
	const insert = `INSERT INTO export_bodies (export_id, body, link, export_context, checksum) VALUES ($1, $2, $3, $4, $5)`
	sealed, err := e.Sealed, error(nil)
	if sealed == nil {
		sealed, err = tx.db.dataKeys.sealBody(e)
	}
	if err != nil {
		return err
	}
	if sealed != nil {
		return tx.sql.Run(insert, e.ID, sealed, nil, nil, checksum(exportParts(e, nil, nil)))
	}
	return tx.sql.Run(insert, e.ID, packBody(nil, e.Body), e.Link, e.ExportContext,
		checksum(exportParts(e, e.Link, e.ExportContext)))
}

// AcceptedExport finds an accepted export by its key.
func (tx *Tx) AcceptedExport(tenant, key string) (AcceptedExport, bool, error) {
	var s AcceptedExport
	var sum []byte
	ok, err := tx.sql.Scan([]any{&s.ID, &sum, &s.Receipt, rows.Time(&s.ReceivedAt)}, `
		SELECT id, sha256, receipt, received_at FROM exports WHERE tenant = $1 AND key = $2`, tenant, key)
	copy(s.SHA256[:], sum)
	return s, ok, err
}

// UpsertUnkeyedBody returns the key of a body without an X-Service-UUID: proposed, or until till the one of the same
// body before.
func (tx *Tx) UpsertUnkeyedBody(tenant string, sum [sha256.Size]byte, proposed string, now, till time.Time) (string, error) {
	var key string
	ok, err := tx.sql.Scan([]any{&key}, `
		INSERT INTO unkeyed_bodies (tenant, sha256, key, till) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant, sha256) DO UPDATE SET key = excluded.key, till = excluded.till
		WHERE unkeyed_bodies.till <= $5
		RETURNING key`, tenant, sum[:], proposed, rows.Micros(till), rows.Micros(now))
	if err != nil || ok {
		return key, err
	}
	_, err = tx.sql.Scan([]any{&key}, `SELECT key FROM unkeyed_bodies WHERE tenant = $1 AND sha256 = $2`,
		tenant, sum[:])
	return key, err
}

// MarkDispatched stores that Temporal has the workflow of a round, and the integrations that it delivers to.
// Integrations that a redelivery added to the round while its workflow was being started get the next round. Without
// any, its workflow fetches the documents alone.
func (tx *Tx) MarkDispatched(id int64, round int, at time.Time, integrations ...string) error {
	const mark = `UPDATE exports SET dispatched_at = $1, integrations = $2 WHERE id = $3 AND round = $4`
	args := []any{rows.Micros(at), joined(integrations), id, round}
	n, err := tx.sql.Exec(mark+` AND integrations = $2`, args...)
	if err != nil || n == 1 {
		return err
	}
	if err := tx.lockExport(id); err != nil {
		return err
	}
	e, err := tx.export(id)
	if err != nil || e.Round != round { // another round has begun
		return err
	}
	if err := tx.sql.Run(mark, args...); err != nil {
		return err
	}
	if len(e.Integrations) == 0 { // a gateway of an earlier version accepted it
		e.Integrations, e.DispatchedAt = integrations, at
		return tx.CompleteRound(e)
	}
	added := slices.DeleteFunc(e.Integrations, func(name string) bool { return slices.Contains(integrations, name) })
	if len(added) == 0 || !e.DispatchedAt.IsZero() {
		return nil
	}
	for _, name := range added { // a delivery moves on with its integration
		err := tx.sql.Run(`UPDATE deliveries SET round = $1 WHERE export_id = $2 AND integration = $3 AND round = $4`,
			round+1, id, name, round)
		if err != nil {
			return err
		}
	}
	_, err = tx.BeginRound(id, added, at, e.DeliverTill)
	return err
}

// lockExport locks an export's row until the transaction ends: two nodes must not begin the same round.
func (tx *Tx) lockExport(id int64) error {
	return tx.sql.Run(`UPDATE exports SET round = round WHERE id = $1`, id)
}

// PostponeDispatch has the sweep skip an export until a time. An export that is in a group leaves it for the next
// round, since the group is not postponed, and may have been started with it.
func (tx *Tx) PostponeDispatch(e *model.Export, until time.Time) error {
	if e.InGroup(e.Round) {
		if err := tx.SkipRound(e); err != nil {
			return err
		}
	}
	return tx.sql.Run(`UPDATE exports SET dispatch_after = $1 WHERE id = $2`, rows.Micros(until), e.ID)
}

// MarkFault stores why Temporal will never start this export's workflow: what it was to deliver has failed.
func (tx *Tx) MarkFault(id int64, reason string, now time.Time) error {
	if err := tx.sql.Run(`UPDATE exports SET fault = $1 WHERE id = $2`, reason, id); err != nil {
		return err
	}
	return tx.sql.Run(`UPDATE deliveries SET outcome = 'failed', fault = 'our_fault', reason = $1, updated_at = $2
		WHERE export_id = $3 AND outcome = 'pending'`, reason, rows.Micros(now), id)
}

// BeginRound has an export delivered to integrations again: a redelivery, or a release of held deliveries. It adds them
// to the present round if no workflow was started for that yet, and begins the next round otherwise. The moved deliveries
// go on in it, with the attempts they had. It returns the updated export. The error is ErrErased when the content was
// erased, and ErrStale when a moved delivery is not what it was.
func (tx *Tx) BeginRound(id int64, integrations []string, now, deliverTill time.Time, moved ...*model.Delivery) (*model.Export, error) {
	if err := tx.lockExport(id); err != nil {
		return nil, err
	}
	e, err := tx.export(id)
	if err != nil {
		return nil, err
	}
	if !e.ErasedAt.IsZero() {
		return nil, ErrErased
	}
	if len(e.Integrations) == 0 && len(integrations) > 0 { // it has somewhere to go now
		if err := tx.sql.Run(`DELETE FROM deliveries WHERE export_id = $1 AND integration = ''`, id); err != nil {
			return nil, err
		}
	}
	if e.DispatchedAt.IsZero() && e.Fault == "" {
		e.Integrations = model.Distinct(append(e.Integrations, integrations...))
	} else {
		if !e.DispatchedAt.IsZero() { // what a gateway of an earlier version did not insert must be known to be on its way
			others := slices.DeleteFunc(e.Missing(nil), func(d *model.Delivery) bool { return slices.Contains(integrations, d.Integration) })
			if err := insertPending(tx.sql, others); err != nil {
				return nil, err
			}
		}
		if e.InGroup(e.Round) {
			e.GroupWorkflow = e.WorkflowID
		}
		e.Round++
		e.Integrations = model.Distinct(integrations)
		e.WorkflowID = model.WorkflowID(e.Tenant, e.Key, e.Round)
	}
	e.DispatchedAt, e.Fault, e.DeliverTill = time.Time{}, "", deliverTill
	err = tx.sql.Run(`UPDATE exports SET round = $1, integrations = $2, workflow_id = $3, dispatched_at = NULL,
		dispatch_after = $4, deliver_till = $5, fault = '', unsettled = $6, group_workflow = $7 WHERE id = $8`,
		e.Round, joined(e.Integrations), e.WorkflowID, rows.Micros(now), rows.Micros(deliverTill), true, e.GroupWorkflow, id)
	if err != nil {
		return nil, err
	}
	for _, d := range moved {
		if ok, err := tx.UpdateDeliveryRound(d, e.Round, now); err != nil || !ok {
			return nil, cmp.Or(err, ErrStale)
		}
	}
	begun := make([]*model.Delivery, len(integrations))
	for n, name := range integrations {
		begun[n] = model.NewDelivery(e, name, e.Round, now)
	}
	return e, insertPending(tx.sql, begun)
}

// joined formats names of integrations for the column: sorted, each once, separated by spaces.
func joined(names []string) string { return strings.Join(model.Distinct(names), " ") }

// ReleaseQuarantine releases an export from quarantine. It reports false when it is not there (any more). Its findings
// stay.
func (tx *Tx) ReleaseQuarantine(id int64) (bool, error) {
	return tx.sql.Changed(`UPDATE exports SET quarantined = $1 WHERE id = $2 AND quarantined`, false, id)
}

// SkipRound moves an export that was not dispatched to the next round, with the deliveries of its present one.
func (tx *Tx) SkipRound(e *model.Export) error {
	n, err := tx.sql.Exec(`UPDATE exports SET round = $1, workflow_id = $2, group_id = NULL WHERE id = $3 AND round = $4
		AND dispatched_at IS NULL`,
		e.Round+1, model.WorkflowID(e.Tenant, e.Key, e.Round+1), e.ID, e.Round)
	if err != nil || n == 0 {
		return err
	}
	return tx.sql.Run(`UPDATE deliveries SET round = $1 WHERE export_id = $2 AND round = $3`, e.Round+1, e.ID, e.Round)
}

const exportColumns = `e.id, e.tenant, e.key, e.keyed, e.origin, e.sha256, e.size, e.candidate_id, e.attachments,
	e.receipt, e.received_at,
	e.documents_till, e.deliver_till, e.round, e.integrations, e.workflow_id, coalesce(e.group_id, 0), e.group_workflow,
	coalesce(e.group_id = 0, FALSE), e.dispatched_at,
	e.fault, e.quarantined,
	e.findings, e.erased_at, coalesce(e.traceparent, '')`

func scanExport(r row) (*model.Export, error) { return scanExportAnd(r) }

// scanExportAnd scans further columns as well.
func scanExportAnd(r row, more ...any) (*model.Export, error) {
	var e model.Export
	var sum []byte
	var integrations string
	dest := []any{&e.ID, &e.Tenant, &e.Key, &e.Keyed, &e.Origin, &sum, &e.Size, &e.CandidateID, &e.Attachments,
		&e.Receipt, rows.Time(&e.ReceivedAt),
		rows.Time(&e.DocumentsTill), rows.Time(&e.DeliverTill), &e.Round, &integrations, &e.WorkflowID, &e.Group, &e.GroupWorkflow,
		&e.Alone, rows.Time(&e.DispatchedAt), &e.Fault, &e.Quarantined, &e.Findings, rows.Time(&e.ErasedAt), &e.Traceparent}
	if err := r.Scan(append(dest, more...)...); err != nil {
		return nil, err
	}
	copy(e.SHA256[:], sum)
	e.Integrations = strings.Fields(integrations)
	return &e, nil
}

func (tx *Tx) export(id int64) (*model.Export, error) {
	e, ok, err := rows.First(rows.QueryTx(tx.sql, scanExport, `SELECT `+exportColumns+` FROM exports e WHERE e.id = $1`, id))
	if err == nil && !ok {
		err = ErrNotFound
	}
	return e, err
}

// Export reads an export, without its body.
func (db *DB) Export(ctx context.Context, id int64) (*model.Export, error) {
	return rows.QueryOne(ctx, db.reads, scanExport, `SELECT `+exportColumns+` FROM exports e WHERE e.id = $1`, id)
}

// ExportByKey reads the export a tenant knows under a key, without its body.
func (db *DB) ExportByKey(ctx context.Context, tenant, key string) (*model.Export, error) {
	return rows.QueryOne(ctx, db.reads, scanExport, `SELECT `+exportColumns+` FROM exports e WHERE e.tenant = $1 AND e.key = $2`,
		tenant, key)
}

// ExportByReceipt reads the export a receipt was given for, without its body.
func (db *DB) ExportByReceipt(ctx context.Context, receipt string) (*model.Export, error) {
	id, ok := model.ParseReceipt(receipt)
	if !ok {
		return nil, ErrNotFound
	}
	e, err := db.Export(ctx, id)
	if err == nil && subtle.ConstantTimeCompare([]byte(e.Receipt), []byte(receipt)) == 0 {
		return nil, ErrNotFound
	}
	return e, err
}

// LoadBody reads the body of an export, which was read before, and the headers it came with into it. The error is
// ErrNotFound when its content was erased, and ErrUnreadable when any of it is damaged.
func (db *DB) LoadBody(ctx context.Context, e *model.Export) error {
	type parts struct{ body, link, exportContext, checksum []byte }
	p, err := rows.QueryOne(ctx, db.reads, func(r row) (p parts, err error) {
		err = r.Scan(&p.body, octets{&p.link}, octets{&p.exportContext}, &p.checksum)
		return p, err
	}, `SELECT body, link, export_context, checksum FROM export_bodies WHERE export_id = $1`, e.ID)
	if errors.Is(err, ErrNotFound) {
		return db.lostBody(ctx, e)
	}
	if err != nil {
		return err
	}
	if err := compare(p.checksum, exportParts(e, p.link, p.exportContext)); err != nil {
		return fmt.Errorf("reading export %d: %w", e.ID, err)
	}
	loaded := *e
	if len(p.body) > 0 && p.body[0] == keyedBody {
		err = db.openBody(ctx, &loaded, p.body)
	} else {
		loaded.Link, loaded.ExportContext = p.link, p.exportContext
		loaded.Body, err = unwrapSized(p.body, e.Size)
	}
	if err == nil && sha256.Sum256(loaded.Body) != e.SHA256 {
		err = errChanged
	}
	if err != nil {
		return fmt.Errorf("reading the body of export %d: %w", e.ID, err)
	}
	*e = loaded
	return nil
}

// lostBody is the error of LoadBody for an export that has no body.
func (db *DB) lostBody(ctx context.Context, e *model.Export) error {
	now, err := db.Export(ctx, e.ID)
	if err != nil {
		return err
	}
	if now.ErasedAt.IsZero() {
		return fmt.Errorf("%w: export %d has no body", ErrUnreadable, e.ID)
	}
	return ErrNotFound
}

// ListUndispatchedUnfetched lists exports after an ID that wait for Temporal and have documents to fetch whose URLs have
// not ended: at most limit of those received before a time, the oldest first. next is the ID to continue after, 0 at the
// end.
func (db *DB) ListUndispatchedUnfetched(ctx context.Context, after int64, before, now time.Time,
	limit int) (found []*model.Export, next int64, err error) {
	return rows.QueryPage(ctx, db.reads, scanExport, func(e *model.Export) int64 { return e.ID }, limit,
		`SELECT `+exportColumns+` FROM exports e WHERE `+undispatchedOfAll+` AND e.id > $1
			AND e.attachments > 0 AND e.received_at <= $2 AND e.documents_till > $3
			AND (SELECT count(*) FROM documents d WHERE d.export_id = e.id AND d.state <> 'fetching') < e.attachments
		ORDER BY e.id`, after, rows.Micros(before), rows.Micros(now))
}
