package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// IntegrationStatus is the state of an integration's setup, with its reason and time.
type IntegrationStatus struct {
	State     model.IntegrationState
	Reason    string // a sentence for people: why it is not configured, or disabled
	Attempts  int    // verifications sent with this setting
	UpdatedAt time.Time
	RemovedAt time.Time // when one of this name was removed last, with whatever setting; zero: never
	// ByOperator is set where an operator disabled it: no answer of the partner and no other setting changes that.
	ByOperator bool
	// ByFormer is set where VERIFY was answered with the former secret, and not yet with the present one: exports go
	// on, signed with the former one.
	ByFormer bool

	kept kept
}

// kept is the stored row of an integration's status as it was read, of any setting.
type kept struct {
	setting    []byte // nil: nothing
	state      model.IntegrationState
	byOperator bool
	former     []byte // the setting with the former secret, where VERIFY was answered with that; nil: it was not
}

// Deliverable reports whether exports may go to an integration: it answered VERIFY, or is the operator's own, and is
// not disabled.
func (s IntegrationStatus) Deliverable(i *model.Integration) bool {
	return s.State == model.Configured || s.ByFormer || !i.Verify && s.State == model.NotConfigured
}

// Standing returns the state of an integration as people see it everywhere: that of its setup or, of one that may get
// exports, how those went.
func (s IntegrationStatus) Standing(i *model.Integration, h *model.Health) string {
	switch {
	case !s.Deliverable(i):
		return string(s.State)
	case h.Refusing():
		return model.Refusing
	case h.Failing():
		return model.Failing
	case h.LastSuccess.IsZero():
		return model.Unproven
	}
	return string(model.Configured)
}

// IntegrationStatus reads where an integration stands with its present setting; not configured when it was never
// verified with that one.
func (db *DB) IntegrationStatus(ctx context.Context, i *model.Integration) (IntegrationStatus, error) {
	s, err := rows.QueryOne(ctx, db.reads, scanStatus, selectStatus, i.Tenant, i.Name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return s, err
	}
	return s.with(i), nil
}

// IntegrationStatus is DB.IntegrationStatus within a transaction.
func (tx *Tx) IntegrationStatus(i *model.Integration) (s IntegrationStatus, err error) {
	all, err := rows.QueryTx(tx.sql, scanStatus, selectStatus, i.Tenant, i.Name)
	if err != nil {
		return s, err
	}
	if len(all) > 0 {
		s = all[0]
	}
	return s.with(i), nil
}

const statusColumns = `setting, state, reason, attempts, updated_at, removed_at, by_operator, former`

const selectStatus = `SELECT ` + statusColumns + ` FROM integration_states
	WHERE tenant = $1 AND integration = $2`

// fields returns the destinations of the columns of selectStatus.
func (s *IntegrationStatus) fields() []any {
	return []any{&s.kept.setting, &s.State, &s.Reason, &s.Attempts, rows.Time(&s.UpdatedAt), rows.Time(&s.RemovedAt),
		&s.ByOperator, &s.kept.former}
}

func scanStatus(r row) (s IntegrationStatus, err error) {
	err = r.Scan(s.fields()...)
	return s, err
}

// IsIntegrationRemoved reports whether an integration was removed, with whatever setting. Ask it of one that
// the configuration does not have.
func (db *DB) IsIntegrationRemoved(ctx context.Context, tenant, name string) (bool, error) {
	state, err := rows.QueryOne(ctx, db.reads, rows.Value[model.IntegrationState],
		`SELECT state FROM integration_states WHERE tenant = $1 AND integration = $2`, tenant, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return state == model.Removed, err
}

// DamagedReason is why an integration whose row was damaged gets no exports.
const DamagedReason = "what is stored of its address and secrets is damaged: save it again with all of them " +
	"(hiregate integration set), or restore the database from a backup"

// with is the status of an integration with its present setting, of which the database may know nothing. One that is
// declared in the configuration is there, also where a stored one of its name and setting was removed before.
func (s IntegrationStatus) with(i *model.Integration) IntegrationStatus {
	s.kept.state, s.kept.byOperator = s.State, s.ByOperator
	present, former := i.Setting(), i.FormerSetting()
	takenBack := bytes.Equal(s.kept.former, present) // the rotation was
	if former == nil || !bytes.Equal(s.kept.former, former) {
		s.kept.former = nil
		if former != nil && bytes.Equal(s.kept.setting, former) && s.State == model.Configured {
			s.kept.former = former
		}
	}
	declaredAgain := s.State == model.Removed && i.Row.Version == 0
	switch {
	case i.Damaged:
		return IntegrationStatus{State: model.NotConfigured, Reason: DamagedReason, UpdatedAt: s.UpdatedAt,
			RemovedAt: s.RemovedAt, kept: s.kept}
	case s.ByOperator:
		return s
	case bytes.Equal(s.kept.setting, present) && !declaredAgain:
		s.ByFormer = s.State == model.NotConfigured && s.kept.former != nil
		return s
	case takenBack:
		return IntegrationStatus{State: model.Configured, UpdatedAt: s.UpdatedAt, RemovedAt: s.RemovedAt, kept: s.kept}
	}
	return IntegrationStatus{State: model.NotConfigured, Reason: "VERIFY was not sent yet", RemovedAt: s.RemovedAt,
		ByFormer: s.kept.former != nil, kept: s.kept}
}

// IntegrationStatuses has the status of each integration.
type IntegrationStatuses map[model.Place]IntegrationStatus

// Of returns the same as DB.IntegrationStatus.
func (s IntegrationStatuses) Of(i *model.Integration) IntegrationStatus {
	return s[model.Place{Tenant: i.Tenant, Integration: i.Name}].with(i)
}

// ListIntegrationStatuses reads where all integrations stand, for those who ask about many.
func (db *DB) ListIntegrationStatuses(ctx context.Context) (IntegrationStatuses, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (at model.Place, s IntegrationStatus, err error) {
		err = r.Scan(append([]any{&at.Tenant, &at.Integration}, s.fields()...)...)
		return at, s, err
	}, `SELECT tenant, integration, `+statusColumns+` FROM integration_states`)
}

const upsertIntegrationStatus = `
	INSERT INTO integration_states (tenant, integration, ` + statusColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (tenant, integration) DO UPDATE
	SET setting = excluded.setting, state = excluded.state, reason = excluded.reason,
		attempts = excluded.attempts, updated_at = excluded.updated_at, removed_at = COALESCE(excluded.removed_at,
		integration_states.removed_at), by_operator = excluded.by_operator,
		former = excluded.former`

func (s IntegrationStatus) values(i *model.Integration) []any {
	var removedAt time.Time
	if s.State == model.Removed {
		removedAt = s.UpdatedAt
	}
	return []any{i.Tenant, i.Name, i.Setting(), string(s.State), s.Reason, s.Attempts, rows.Micros(s.UpdatedAt),
		rows.Micros(removedAt), s.ByOperator, s.kept.former}
}

// UpsertIntegrationStatus writes where an integration stands with its present setting, whatever was known before.
func (tx *Tx) UpsertIntegrationStatus(i *model.Integration, s IntegrationStatus) error {
	return tx.sql.Run(upsertIntegrationStatus, s.values(i)...)
}

// UpdateIntegrationStatus writes where an integration stands after it answered, from where it stood when it was asked.
// It reports false, and changes nothing, when it does not stand there any more: it was given another setting, or
// disabled, or removed.
func (tx *Tx) UpdateIntegrationStatus(i *model.Integration, from, to IntegrationStatus) (bool, error) {
	return tx.sql.Changed(upsertIntegrationStatus+`
		WHERE integration_states.setting = $11 AND integration_states.state = $12
			AND integration_states.by_operator = $13`,
		append(to.values(i), from.kept.setting, string(from.kept.state), from.kept.byOperator)...)
}
