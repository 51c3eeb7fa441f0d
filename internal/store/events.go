package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// Events are written in the transaction of the change, at positions of the lists of job applications: so none appears
// behind one that was read. A tenant without a subscription has none, and its candidates and jobs take no positions.

// change has what subscribes to a tenant told of a change. Of several in a transaction that say the same, one is written.
func (tx *Tx) change(tenant string, c model.Change, object string, at time.Time) {
	tx.addEvent(&model.ChangeEvent{Tenant: tenant, Type: c, Object: object, At: at})
}

func (tx *Tx) addEvent(e *model.ChangeEvent) {
	if !tx.db.subscribed.has(e.Tenant) {
		return
	}
	pending := tx.tenantChanges(e.Tenant)
	if c := pending.changes[e.Object]; c != nil && e.Type.OfApplication() && (c.imported || c.erased && e.Type != model.ApplicationErased) {
		return
	}
	for _, before := range pending.events {
		if before.Object == e.Object && (before.Type == e.Type && e.From == e.To ||
			e.Type == model.ApplicationChanged && before.Type == model.ApplicationReceived) {
			return
		}
	}
	pending.events = append(pending.events, e)
}

// moved has what subscribes told of the change of a job application that is about to be written: that it moved, or that
// it changed otherwise.
func (tx *Tx) moved(a *model.JobApplication, at time.Time) error {
	switch {
	case !tx.db.subscribed.has(a.Tenant):
		return nil
	case a.VersionOf != "":
		tx.change(a.Tenant, model.ApplicationChanged, a.VersionOf, at)
		return nil
	}
	if a.Version == 0 {
		tx.change(a.Tenant, model.ApplicationReceived, a.ID, at)
	}
	from, ended := "", ""
	if _, err := tx.sql.Scan([]any{&from, &ended}, `SELECT step, ended FROM job_applications WHERE tenant = $1 AND id = $2`,
		a.Tenant, a.ID); err != nil {
		return err
	}
	if as := string(a.State()); as != ended && as != "" {
		tx.change(a.Tenant, model.ApplicationEnded, a.ID, at)
		if from == a.Status.Step {
			return nil
		}
	}
	switch {
	case from != a.Status.Step:
		tx.addEvent(&model.ChangeEvent{Tenant: a.Tenant, Type: model.ApplicationMoved, Object: a.ID, From: from,
			To: a.Status.Step, At: at})
	case a.Version > 0:
		tx.change(a.Tenant, model.ApplicationChanged, a.ID, at)
	}
	return nil
}

// TellCandidateErased has what subscribes told that a candidate was deleted.
func (tx *Tx) TellCandidateErased(c *model.Candidate, now time.Time) {
	tx.change(c.Tenant, model.CandidateErased, c.ID, now)
}

// TellJobRemoved has what subscribes told that a job was deleted.
func (tx *Tx) TellJobRemoved(j *model.Job, now time.Time) {
	tx.change(j.Tenant, model.JobChanged, j.BoardCode, now)
}

// writeEvents writes the events of a tenant from a position on.
func (pending *tenantChanges) writeEvents(tx *database.Tx, tenant string, position int64) error {
	for n, e := range pending.events {
		if e.Type.OfApplication() {
			if counted, err := countEvent(tx, e); err != nil {
				return err
			} else if !counted {
				continue
			}
		}
		if err := tx.Run(`INSERT INTO events (tenant, position, type, object, sequence, step_from, step_to, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, tenant, position+int64(n), string(e.Type), e.Object, e.Sequence, e.From, e.To,
			rows.Micros(e.At)); err != nil {
			return err
		}
	}
	return nil
}

// countEvent gives an event of a job application its number. What happens to a further version happens to the first. It
// reports false when there is none of it.
func countEvent(tx *database.Tx, e *model.ChangeEvent) (bool, error) {
	for range 2 {
		counted, err := tx.Scan([]any{&e.Sequence}, `UPDATE application_list SET events = events + 1 WHERE tenant = $1
			AND id = $2 RETURNING events`, e.Tenant, e.Object)
		if err != nil || counted {
			return counted, err
		}
		found, err := tx.Scan([]any{&e.Object}, `SELECT version_of FROM job_applications WHERE tenant = $1 AND id = $2`, e.Tenant,
			e.Object)
		if err != nil || !found {
			return false, err
		}
	}
	return false, nil
}

// ListEvents lists up to limit events of a tenant after a position, in order.
func (db *DB) ListEvents(ctx context.Context, tenant string, after int64, limit int) ([]*model.ChangeEvent, error) {
	return rows.Query(ctx, db.reads, func(r row) (*model.ChangeEvent, error) {
		e := &model.ChangeEvent{Tenant: tenant}
		return e, r.Scan(&e.Position, &e.Type, &e.Object, &e.Sequence, &e.From, &e.To, rows.Time(&e.At))
	}, `SELECT position, type, object, sequence, step_from, step_to, at FROM events WHERE tenant = $1 AND position > $2
		ORDER BY position LIMIT $3`, tenant, after, limit)
}

// EventPositions reads the bounds of a tenant's events: no cursor is beyond last, and events up to untold are deleted.
func (db *DB) EventPositions(ctx context.Context, tenant string) (last, untold int64, err error) {
	_, _, err = rows.First(rows.Query(ctx, db.reads, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&last, &untold)
	}, `SELECT last, untold FROM application_positions WHERE tenant = $1`, tenant))
	return last, untold, err
}

// eventsAtOnce is how many events DeleteEvents deletes.
const eventsAtOnce = 500

// DeleteEvents deletes up to 500 events from before a time, and returns how many.
func (tx *Tx) DeleteEvents(before time.Time) (int64, error) {
	type gone struct {
		tenant   string
		position int64
	}
	all, err := rows.QueryTx(tx.sql, func(r row) (g gone, err error) {
		return g, r.Scan(&g.tenant, &g.position)
	}, `SELECT tenant, position FROM events WHERE at < $1 ORDER BY at LIMIT $2`, rows.Micros(before), eventsAtOnce)
	if err != nil {
		return 0, err
	}
	for _, g := range all {
		if err := tx.sql.RunAll([]string{`DELETE FROM events WHERE tenant = $1 AND position = $2`,
			`UPDATE application_positions SET untold = $2 WHERE tenant = $1 AND untold < $2`}, g.tenant, g.position); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}
