-- +goose Up

-- A second factor: time-based one-time passwords (RFC 6238).
ALTER TABLE users ADD COLUMN totp_required BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE users ADD COLUMN totp $BYTES;                        -- the secret, sealed with a key that is not in the database; NULL: not set up yet
ALTER TABLE users ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0; -- of the last password that was used; none up to it is good again

-- Accounts at another provider, and whose they are here.
CREATE TABLE upstream_accounts (
	issuer          $KEY NOT NULL,
	subject         $KEY NOT NULL,
	user_id         $KEY NOT NULL REFERENCES users (id),
	created_at      BIGINT NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX upstream_accounts_by_user ON upstream_accounts (user_id);

-- +goose Down
DROP TABLE upstream_accounts;
ALTER TABLE users DROP COLUMN totp_step;
ALTER TABLE users DROP COLUMN totp;
ALTER TABLE users DROP COLUMN totp_required;
