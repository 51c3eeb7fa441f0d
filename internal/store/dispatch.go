package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// undispatched are the exports whose workflow is to be started.
const undispatched = `e.dispatched_at IS NULL AND e.fault = ''`

// undispatchedOfAll is undispatched for a statement about all tenants, and stillUndispatched for one that names its
// exports or their group. Each is written so that only the index for it fits: with statistics of a time when nothing
// waited, PostgreSQL takes any index of what is undispatched for small, and would walk it.
const undispatchedOfAll = `coalesce(e.dispatched_at, 0) = 0 AND e.fault = ''`

const stillUndispatched = `e.dispatched_at IS NULL AND coalesce(e.fault, '') = ''`

// memberOf is the condition on an export e that it waits to be started in the group $1.
const memberOf = `e.group_id = $1 AND e.round = 0 AND ` + stillUndispatched

// undispatchedSince is since when such an export waits: since it came, or since its round began, in which each integration
// has a delivery from then on.
const undispatchedSince = `CASE WHEN e.round > 0 THEN coalesce((SELECT min(d.updated_at) FROM deliveries d
	WHERE d.export_id = e.id AND d.round = e.round), e.received_at) ELSE e.received_at END`

// eachUndispatched is the table of the tenants that have exports whose workflow is to be started, and of NULL: a step in
// the index for each, however many exports it has.
const eachUndispatched = `WITH RECURSIVE each_tenant (tenant) AS (
	SELECT (SELECT e.tenant FROM exports e WHERE ` + undispatched + ` ORDER BY e.tenant LIMIT 1)
	UNION ALL SELECT (SELECT e.tenant FROM exports e WHERE ` + undispatched + ` AND e.tenant > each_tenant.tenant
		ORDER BY e.tenant LIMIT 1) FROM each_tenant WHERE each_tenant.tenant IS NOT NULL) `

// UndispatchedTenants lists the tenants that have exports whose workflow is to be started, by name.
func (db *DB) UndispatchedTenants(ctx context.Context) ([]string, error) {
	return rows.Query(ctx, db.reads, rows.Value[string],
		eachUndispatched+`SELECT each_tenant.tenant FROM each_tenant WHERE each_tenant.tenant IS NOT NULL`)
}

// ListUndispatched lists a tenant's exports whose workflow waits to be started, those that wait longest first: at most
// limit of those that should have been started before a time.
func (db *DB) ListUndispatched(
	ctx context.Context, tenant string, before time.Time, limit int,
) ([]*model.Export, error) {
	return rows.Query(ctx, db.reads, scanExport, `SELECT `+exportColumns+` FROM exports e
		WHERE `+undispatched+` AND e.tenant = $1 AND e.dispatch_after <= $2 ORDER BY e.dispatch_after LIMIT $3`, tenant, rows.Micros(before), limit)
}

// Group makes a group of those of the exports that still wait for a workflow of their own, and returns its members by ID,
// as they then are. The first one's ID is the group's. Exports that another node is just dispatching are left to it. The
// sweep passes over the group for as long as over an export that comes at that time.
func (tx *Tx) Group(exports []*model.Export, at time.Time) ([]*model.Export, error) {
	ids, named := make([]int64, len(exports)), map[int64][]string{}
	for n, e := range exports {
		ids[n], named[e.ID] = e.ID, e.Integrations
	}
	in, args := oneOf(ids)
	members, err := rows.QueryTx(tx.sql, scanExport, `SELECT `+exportColumns+` FROM exports e
		WHERE e.id IN (`+in+`) AND `+stillUndispatched+` AND e.round = 0 AND e.group_id IS NULL
		ORDER BY e.id`+tx.sql.SkipLocked(), args...)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	alike, workflow := map[string][]int64{}, model.GroupWorkflowID(members) // IDs, by the integrations
	for _, e := range members {
		e.Group, e.WorkflowID = members[0].ID, workflow
		if err := tx.Address(e, named[e.ID]); err != nil {
			return nil, err
		}
		to := strings.Join(e.Integrations, " ")
		alike[to] = append(alike[to], e.ID)
	}
	for to, ids := range alike {
		in, args := oneOf(ids)
		set := fmt.Sprintf(`UPDATE exports SET group_id = $%d, workflow_id = $%d, integrations = $%d, dispatch_after = $%d WHERE id IN (%s)`,
			len(args)+1, len(args)+2, len(args)+3, len(args)+4, in)
		if err := tx.sql.Run(set, append(args, members[0].ID, members[0].WorkflowID, to, rows.Micros(at))...); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// TakeTurn claims an export whose workflow waits to be started, or the group that it is in: the sweeps of all nodes pass
// over it for as long as over an export that comes at that time, and no group takes an export that was claimed alone. It
// returns what is to be started, as it is by now, the members of a group by ID. It returns none where another node
// claimed it after before, or is about to, or made it a member of a group.
func (tx *Tx) TakeTurn(e *model.Export, before, at time.Time) ([]*model.Export, error) {
	key, id := `e.id = $1 AND (e.round > 0 OR coalesce(e.group_id, 0) = 0)`, e.ID
	if e.InGroup(e.Round) { // nodes lock the same member, whichever they found
		key, id = `e.id = (SELECT min(e.id) FROM exports e WHERE `+memberOf+` AND e.dispatch_after <= $2)`, e.Group
	}
	taken, err := rows.QueryTx(tx.sql, scanExport, `SELECT `+exportColumns+` FROM exports e
		WHERE `+key+` AND `+stillUndispatched+` AND e.dispatch_after <= $2`+tx.sql.SkipLocked(), id, rows.Micros(before))
	if err != nil || len(taken) == 0 {
		return nil, err
	}
	if taken[0].InGroup(taken[0].Round) {
		taken, err = rows.QueryTx(tx.sql, scanExport, `SELECT `+exportColumns+` FROM exports e WHERE `+memberOf+` ORDER BY e.id`, id)
		if err != nil {
			return nil, err
		}
	}
	in, args := oneOf(idsOf(taken), rows.Micros(at))
	return taken, tx.sql.Run(`UPDATE exports SET dispatch_after = $1,
		group_id = CASE WHEN round = 0 THEN coalesce(group_id, 0) ELSE group_id END WHERE id IN (`+in+`)`, args...)
}

// ReturnTurn returns a turn to the sweeps of all nodes, which find those of the exports that still wait at once: in
// their order of before, or as of a time if they are of a later round.
func (tx *Tx) ReturnTurn(exports []*model.Export, at time.Time) error {
	in, args := oneOf(idsOf(exports), rows.Micros(at))
	return tx.sql.Run(`UPDATE exports SET dispatch_after = CASE WHEN round = 0 THEN received_at ELSE $1 END
		WHERE id IN (`+in+`) AND dispatched_at IS NULL`, args...)
}

func idsOf(exports []*model.Export) []int64 {
	ids := make([]int64, len(exports))
	for n, e := range exports {
		ids[n] = e.ID
	}
	return ids
}

// MarkGroupDispatched notes that Temporal has the workflow of a group.
func (tx *Tx) MarkGroupDispatched(group int64, at time.Time) error {
	return tx.sql.Run(`UPDATE exports AS e SET dispatched_at = $2 WHERE `+memberOf, group, rows.Micros(at))
}

// Redispatch has exports in their first round wait for a workflow of their own, or for a group, again: their workflow,
// which was started before a time, is gone. It leaves out, and returns, those of which that is not so, or that are
// delivered or erased. The first member of a group goes alone: a group has its id, and another one that it is the first of
// would pass for that of the members that are not found yet.
func (tx *Tx) Redispatch(exports []*model.Export, before time.Time) (left []int64, err error) {
	for _, e := range exports {
		changed, err := tx.sql.Changed(`UPDATE exports SET dispatched_at = NULL, group_id = CASE WHEN group_id = id THEN 0 END, workflow_id = $1
			WHERE id IN (SELECT e.id FROM exports e WHERE e.id = $2 AND e.round = 0 AND e.dispatched_at < $3
				AND e.erased_at IS NULL AND `+undelivered("")+`)`,
			model.WorkflowID(e.Tenant, e.Key, 0), e.ID, rows.Micros(before))
		if err != nil {
			return nil, err
		}
		if !changed {
			left = append(left, e.ID)
		}
	}
	return left, nil
}

// ExportsByID reads exports, at most MaxPage, without their bodies, by ID.
func (db *DB) ExportsByID(ctx context.Context, ids []int64) ([]*model.Export, error) {
	in, args := oneOf(ids)
	return rows.Query(ctx, db.reads, scanExport, `SELECT `+exportColumns+` FROM exports e WHERE e.id IN (`+in+`) ORDER BY e.id`,
		args...)
}

// ListStored returns those of some IDs, at most MaxPage, whose export is here, in order.
func (db *DB) ListStored(ctx context.Context, ids []int64) ([]int64, error) {
	in, args := oneOf(ids)
	return rows.Query(ctx, db.reads, rows.Value[int64], `SELECT e.id FROM exports e WHERE e.id IN (`+in+`) ORDER BY e.id`, args...)
}

// Backlog counts the exports that wait for their workflow and tells since when the oldest does; zero when there is
// none.
func (db *DB) Backlog(ctx context.Context) (n int, oldest time.Time, err error) {
	_, err = rows.QueryOne(ctx, db.reads, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&n, rows.Time(&oldest))
	}, `SELECT w.n, `+undispatchedSince+` FROM (SELECT count(*) AS n, min(e.id) AS oldest FROM exports e WHERE `+undispatchedOfAll+`) w
		LEFT JOIN exports e ON e.id = w.oldest`)
	return n, oldest, err
}

// oldestOf is among how many exports of a tenant the oldest is looked for. A turn hardly changes their order.
const oldestOf = 20

// OldestWaiting tells since when the oldest export of each tenant waits for its workflow, of the twenty whose workflow
// is to be started first. Tenants of which none waits are left out.
func (db *DB) OldestWaiting(ctx context.Context) (map[string]time.Time, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (tenant string, since time.Time, err error) {
		return tenant, since, r.Scan(&tenant, rows.Time(&since))
	}, fmt.Sprintf(eachUndispatched+`SELECT each_tenant.tenant, (SELECT min(f.since) FROM (
			SELECT `+undispatchedSince+` AS since FROM exports e
			WHERE `+undispatched+` AND e.tenant = each_tenant.tenant ORDER BY e.dispatch_after LIMIT %d) f)
		FROM each_tenant WHERE each_tenant.tenant IS NOT NULL`, oldestOf))
}

// oneOf gives the placeholders of an IN list of IDs, of which there is at least one, and the arguments of a statement:
// those before, which are $1 and so on, and the IDs. The list is filled up with its last ID to a power of two, so that
// lists of any length are few statements.
func oneOf[T any](ids []T, before ...any) (placeholders string, args []any) {
	n := 1
	for n < len(ids) {
		n *= 2
	}
	list := make([]string, n)
	for at := range n {
		before = append(before, ids[min(at, len(ids)-1)])
		list[at] = fmt.Sprintf("$%d", len(before))
	}
	return strings.Join(list, ", "), before
}
