package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
)

// IntegrationStatus is where an integration stands, and since when.
type IntegrationStatus struct {
	State     hiring.IntegrationState
	Reason    string // a sentence for people: why it is not configured, or disabled
	Attempts  int    // verifications sent with this setting
	UpdatedAt time.Time
}

// Open tells whether exports may go to an integration: it answered VERIFY, or is its operator's own, and nobody disabled it.
func (s IntegrationStatus) Open(i *hiring.Integration) bool {
	return s.State == hiring.Configured || !i.Verify && s.State == hiring.NotConfigured
}

// IntegrationStatus reads where an integration stands with its present setting; not configured when it was never verified
// with that one.
func (db *DB) IntegrationStatus(ctx context.Context, i *hiring.Integration) (IntegrationStatus, error) {
	s, err := queryOne(ctx, db, scanStatus, selectStatus, i.Tenant, i.Name, i.Setting())
	if errors.Is(err, ErrNotFound) {
		return unverified, nil
	}
	return s, err
}

// IntegrationStatus is DB.IntegrationStatus within a transaction.
func (tx *Tx) IntegrationStatus(i *hiring.Integration) (IntegrationStatus, error) {
	all, err := rowsOf(tx, scanStatus, selectStatus, i.Tenant, i.Name, i.Setting())
	if err != nil || len(all) == 0 {
		return unverified, err
	}
	return all[0], nil
}

const selectStatus = `SELECT state, reason, attempts, updated_at FROM integration_states WHERE tenant = $1 AND integration = $2 AND setting = $3`

func scanStatus(r row) (s IntegrationStatus, err error) {
	err = r.Scan(&s.State, &s.Reason, &s.Attempts, moment{&s.UpdatedAt})
	return s, err
}

// IntegrationRemoved tells whether somebody removed an integration, whatever its last setting was.
func (db *DB) IntegrationRemoved(ctx context.Context, tenant, name string) (bool, error) {
	state, err := queryOne(ctx, db, func(r row) (s hiring.IntegrationState, err error) { err = r.Scan(&s); return s, err },
		`SELECT state FROM integration_states WHERE tenant = $1 AND integration = $2`, tenant, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return state == hiring.Removed, err
}

var unverified = IntegrationStatus{State: hiring.NotConfigured, Reason: "VERIFY was not sent yet"}

// IntegrationStatuses are where all integrations stand.
type IntegrationStatuses map[Place]statusOfSetting

type statusOfSetting struct {
	setting []byte
	IntegrationStatus
}

// Of is what DB.IntegrationStatus reads.
func (s IntegrationStatuses) Of(i *hiring.Integration) IntegrationStatus {
	kept, ok := s[Place{i.Tenant, i.Name}]
	if !ok || !bytes.Equal(kept.setting, i.Setting()) {
		return unverified
	}
	return kept.IntegrationStatus
}

// IntegrationStatuses reads where all integrations stand, for those who ask about many.
func (db *DB) IntegrationStatuses(ctx context.Context) (IntegrationStatuses, error) {
	all := IntegrationStatuses{}
	_, err := query(ctx, db, func(r row) (struct{}, error) {
		var at Place
		var s statusOfSetting
		err := r.Scan(&at.Tenant, &at.Integration, &s.setting, &s.State, &s.Reason, &s.Attempts, moment{&s.UpdatedAt})
		all[at] = s
		return struct{}{}, err
	}, `SELECT tenant, integration, setting, state, reason, attempts, updated_at FROM integration_states`)
	return all, err
}

// PutIntegrationStatus writes where an integration stands with its present setting.
func (tx *Tx) PutIntegrationStatus(i *hiring.Integration, s IntegrationStatus) error {
	_, err := tx.exec(`
		INSERT INTO integration_states (tenant, integration, setting, state, reason, attempts, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (tenant, integration) DO UPDATE SET setting = excluded.setting, state = excluded.state, reason = excluded.reason,
			attempts = excluded.attempts, updated_at = excluded.updated_at`,
		i.Tenant, i.Name, i.Setting(), string(s.State), s.Reason, s.Attempts, micros(s.UpdatedAt))
	return err
}
