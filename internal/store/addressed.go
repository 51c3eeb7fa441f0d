package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertDeliveries inserts the deliveries of a new export, one for each of its integrations: at the end of the
// transaction, in one statement with those of the exports beside it.
func (tx *Tx) InsertDeliveries(e *model.Export) {
	batch := tx.sql.Collect("deliveries", func() database.Collection { return &newDeliveries{} }).(*newDeliveries)
	for _, d := range e.Missing(nil) {
		batch.all = append(batch.all, d)
		if d.Outcome == model.Failed { // it had no integration
			tx.CountEvent(model.ExportsFailed, d.Tenant, d.Integration, d.UpdatedAt)
		}
	}
}

// Address gives an undispatched export that a gateway of an earlier version accepted the deliveries that others have from
// acceptance: to integrations, or one that failed for want of any. It leaves alone what has some.
func (tx *Tx) Address(e *model.Export, integrations []string) error {
	if len(e.Integrations) > 0 {
		return nil
	}
	changed, err := tx.sql.Changed(`UPDATE exports SET integrations = $1 WHERE id = $2 AND integrations = '' AND round = 0
		AND dispatched_at IS NULL AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = exports.id)`,
		joined(integrations), e.ID)
	if changed {
		e.Integrations = model.Distinct(integrations)
		e.ForNobody = len(e.Integrations) == 0
		tx.InsertDeliveries(e)
	}
	return err
}

// CompleteRound inserts the deliveries that the round of an export lacks: a gateway of an earlier version inserts each
// with its first attempt.
func (tx *Tx) CompleteRound(e *model.Export) error {
	if err := insertPending(tx.sql, e.Missing(nil)); err != nil {
		return err
	}
	return tx.sql.Run(`UPDATE exports SET unsettled = $1 WHERE id = $2 AND NOT unsettled`, true, e.ID)
}

// newDeliveries gathers the deliveries of the exports that a transaction accepts.
type newDeliveries struct{ all []*model.Delivery }

// mostInserted is how many deliveries one statement inserts.
const mostInserted = 128

// Writes implements database.Collection.
func (b *newDeliveries) Writes() (all []func(*database.Tx) error) {
	for page := range slices.Chunk(b.all, mostInserted) {
		all = append(all, func(tx *database.Tx) error {
			if err := insertPending(tx, page); err != nil {
				return fmt.Errorf("inserting the deliveries of exports: %w", err)
			}
			return nil
		})
	}
	return all
}

// insertPending inserts deliveries that were not attempted, at most 128, but for those that are there. The list is filled
// up with its last one to a power of two, so that lists of any length are few statements.
func insertPending(tx *database.Tx, all []*model.Delivery) error {
	if len(all) == 0 {
		return nil
	}
	n := 1
	for n < len(all) {
		n *= 2
	}
	args := make([]any, 0, 9*n)
	for at := range n {
		d := all[min(at, len(all)-1)]
		args = append(args, d.ExportID, d.Tenant, d.Integration, d.Round, string(d.Outcome), string(d.Fault), d.Reason,
			rows.Micros(d.CreatedAt), rows.Micros(d.UpdatedAt))
	}
	return tx.Run(pendingInserts[n], args...)
}

// pendingInserts are the statements of insertPending, by how many deliveries they insert.
var pendingInserts = func() map[int]string {
	all := map[int]string{}
	for n := 1; n <= mostInserted; n *= 2 {
		values := make([]string, n)
		for at := range values {
			values[at] = fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d, 0, FALSE, $%d, $%d)",
				9*at+1, 9*at+2, 9*at+3, 9*at+4, 9*at+5, 9*at+6, 9*at+7, 9*at+8, 9*at+9)
		}
		all[n] = `INSERT INTO deliveries (export_id, tenant, integration, round, outcome, fault, reason, attempts, parked,
			created_at, updated_at) VALUES ` + strings.Join(values, ", ") + `
			ON CONFLICT (export_id, integration, round) DO NOTHING`
	}
	return all
}()
