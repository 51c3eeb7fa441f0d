-- +goose Up

-- Who is signed in to the console, by the hash of what the cookie has.
CREATE TABLE console_sessions (
	hash            $BYTES PRIMARY KEY,
	console         TEXT NOT NULL,      -- the address of the console
	issuer          $KEY NOT NULL,      -- the provider where they signed in
	subject         $KEY NOT NULL,      -- who they are there
	sid             $KEY NOT NULL,      -- the session there; empty: the provider named none
	signin          $BYTES,             -- the session at our own sign-in that this one ends with; null: another provider's
	person          $BYTES NOT NULL,    -- what the console knows of them, sealed with a key that is not in the database
	created_at      BIGINT NOT NULL,
	till            BIGINT NOT NULL
);
CREATE INDEX console_sessions_by_person ON console_sessions (issuer, subject);
CREATE INDEX console_sessions_by_sid ON console_sessions (issuer, sid);
CREATE INDEX console_sessions_by_till ON console_sessions (till);

-- Logout tokens of providers that were used, by the hash of issuer and jti: each is good once.
CREATE TABLE logout_tokens (
	hash            $BYTES PRIMARY KEY,
	till            BIGINT NOT NULL
);
CREATE INDEX logout_tokens_by_till ON logout_tokens (till);

-- The session at our own sign-in in which a person granted it; null: before this column was here.
ALTER TABLE grants ADD COLUMN session $BYTES;

-- +goose Down
ALTER TABLE grants DROP COLUMN session;
DROP TABLE logout_tokens;
DROP TABLE console_sessions;
