package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var portalLinks = rows.Table[model.PortalLink]{
	Name:    "portal_links",
	Columns: "tenant, id, label, bodies, actor, name, email, claimed, created_at, expires_at, opened_at, revoked_at",
	Fields: func(l *model.PortalLink) []any {
		return []any{&l.Tenant, &l.ID, &l.Label, &l.Bodies, &l.MadeBy.Actor, &l.MadeBy.Name, &l.MadeBy.Email, &l.MadeBy.Claimed,
			rows.Time(&l.CreatedAt), rows.Time(&l.ExpiresAt), rows.Time(&l.OpenedAt), rows.Time(&l.RevokedAt)}
	}}

// InsertPortalLink adds a link, and deletes those that have expired.
func (tx *Tx) InsertPortalLink(l *model.PortalLink) error {
	if err := tx.sql.Run(`DELETE FROM portal_links WHERE expires_at <= $1`, rows.Micros(l.CreatedAt)); err != nil {
		return err
	}
	by := l.MadeBy.Bounded()
	return tx.sql.Run(`INSERT INTO portal_links (tenant, id, label, bodies, actor, name, email, claimed, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, l.Tenant, l.ID, l.Label, l.Bodies, by.Actor, by.Name, by.Email, by.Claimed,
		rows.Micros(l.CreatedAt), rows.Micros(l.ExpiresAt))
}

// OpenPortalLink stores when a link was opened, unless an opening after since is stored.
func (tx *Tx) OpenPortalLink(tenant, id string, now, since time.Time) error {
	return tx.sql.Run(`UPDATE portal_links SET opened_at = $1 WHERE tenant = $2 AND id = $3
		AND (opened_at IS NULL OR opened_at <= $4)`, rows.Micros(now), tenant, id, rows.Micros(since))
}

// RevokePortalLink ends a link. It reports false when there is none that is valid.
func (tx *Tx) RevokePortalLink(tenant, id string, now time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE portal_links SET revoked_at = $1 WHERE tenant = $2 AND id = $3 AND revoked_at IS NULL
		AND expires_at > $1`, rows.Micros(now), tenant, id)
}

// PortalLink reads a link, also one that is revoked; ErrNotFound when none is stored.
func (db *DB) PortalLink(ctx context.Context, tenant, id string) (*model.PortalLink, error) {
	return portalLinks.Get(ctx, db.reads, `tenant = $1 AND id = $2`, tenant, id)
}

// ListPortalLinks lists the links of a tenant that are valid now, by id.
func (db *DB) ListPortalLinks(ctx context.Context, tenant string, now time.Time, p Page) ([]*model.PortalLink, string, error) {
	return rows.QueryPage(ctx, db.reads, portalLinks.Scan, func(l *model.PortalLink) string { return l.ID }, p.Size(),
		portalLinks.Select(`tenant = $1 AND id > $2 AND expires_at > $3 AND revoked_at IS NULL ORDER BY id`),
		tenant, p.After, rows.Micros(now))
}

// deletePortalLinks deletes the links of a tenant.
func (tx *Tx) deletePortalLinks(tenant string) error {
	return tx.sql.Run(`DELETE FROM portal_links WHERE tenant = $1`, tenant)
}
