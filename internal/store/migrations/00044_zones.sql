-- +goose Up

-- The IANA name of the zone in which a tenant's days begin; empty: UTC.
ALTER TABLE tenants ADD COLUMN zone TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN zone;
