-- +goose Up

-- When inbound secrets of a tenant end: JSON, a time by the secret's fingerprint in base64; empty: none does.
ALTER TABLE tenants ADD COLUMN secret_ends TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN secret_ends;
