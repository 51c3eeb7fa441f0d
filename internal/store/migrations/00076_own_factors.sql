-- +goose Up

-- Whether somebody chose to have a second factor by themselves, and so may remove it.
ALTER TABLE users ADD COLUMN totp_own BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE users DROP COLUMN totp_own;
