-- +goose Up

-- People who sign in. The e-mail address is compared with its letters' case folded.
CREATE TABLE users (
	id              $KEY PRIMARY KEY,   -- the claim sub
	email           TEXT NOT NULL,
	folded          $KEY NOT NULL,
	email_verified  BOOLEAN NOT NULL,
	name            TEXT NOT NULL,
	given_name      TEXT NOT NULL,
	family_name     TEXT NOT NULL,
	password        TEXT NOT NULL,      -- argon2id in PHC form; empty: none is right
	created_at      BIGINT NOT NULL,
	disabled_at     BIGINT,
	totp_required   BOOLEAN NOT NULL DEFAULT FALSE, -- a second factor: time-based one-time passwords (RFC 6238)
	totp            $BYTES,             -- the secret, sealed with a key that is not in the database; null: not set up yet
	totp_step       BIGINT NOT NULL DEFAULT 0 -- of the last password that was used; none up to it is good again
);
CREATE UNIQUE INDEX users_by_email ON users (folded);

-- Applications that people sign in to.
CREATE TABLE oauth_clients (
	id              $KEY PRIMARY KEY,
	name            TEXT NOT NULL,
	redirect_uris   TEXT NOT NULL,      -- JSON array, compared byte for byte
	logout_uris     TEXT NOT NULL,      -- JSON array: where to after signing out
	algorithm       TEXT NOT NULL,
	secret_post     BOOLEAN NOT NULL,
	require_pkce    BOOLEAN NOT NULL,
	consent         BOOLEAN NOT NULL,
	created_at      BIGINT NOT NULL,
	disabled_at     BIGINT
);

CREATE TABLE oauth_secrets (
	client          $KEY NOT NULL REFERENCES oauth_clients (id),
	hash            $BYTES NOT NULL,
	created_at      BIGINT NOT NULL,
	PRIMARY KEY (client, hash)
);

-- Who is signed in, by the hash of what the cookie has.
CREATE TABLE sessions (
	hash            $BYTES PRIMARY KEY,
	issuer          TEXT NOT NULL,
	user_id         $KEY NOT NULL REFERENCES users (id),
	signed_in_at    BIGINT NOT NULL,
	till            BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_till ON sessions (till);

CREATE TABLE consents (
	user_id         $KEY NOT NULL REFERENCES users (id),
	client          $KEY NOT NULL REFERENCES oauth_clients (id),
	scope           TEXT NOT NULL,
	at              BIGINT NOT NULL,
	PRIMARY KEY (user_id, client)
);

-- What a person granted an application, by the hash of the code. It outlives the code: as long as what was issued for it.
CREATE TABLE grants (
	code            $BYTES PRIMARY KEY,
	issuer          TEXT NOT NULL,
	client          $KEY NOT NULL REFERENCES oauth_clients (id),
	user_id         $KEY NOT NULL REFERENCES users (id),
	redirect_uri    TEXT NOT NULL,
	scope           TEXT NOT NULL,
	claims          TEXT NOT NULL,
	nonce           TEXT NOT NULL,
	challenge       TEXT NOT NULL,      -- of PKCE (S256); empty: none
	signed_in_at    BIGINT NOT NULL,
	issued_at       BIGINT NOT NULL,
	code_till       BIGINT NOT NULL,
	consumed_at     BIGINT,
	revoked_at      BIGINT,
	till            BIGINT NOT NULL     -- kept until
);
CREATE INDEX grants_by_user ON grants (user_id);
CREATE INDEX grants_by_client ON grants (client);
CREATE INDEX grants_by_till ON grants (till);

CREATE TABLE tokens (
	hash            $BYTES PRIMARY KEY,
	code            $BYTES NOT NULL REFERENCES grants (code),
	kind            TEXT NOT NULL,      -- access, or refresh
	scope           TEXT NOT NULL,
	issued_at       BIGINT NOT NULL,
	till            BIGINT NOT NULL,
	ended_at        BIGINT,              -- revoked; a refresh token also: rotated
	repeated_at     BIGINT              -- when a rotated refresh token was accepted once more; null: never
);
CREATE INDEX tokens_by_code ON tokens (code);
CREATE INDEX tokens_by_till ON tokens (till);

-- Keys that ID tokens are signed with. The private part is sealed with a key that is not in the database.
CREATE TABLE signing_keys (
	algorithm       $KEY NOT NULL,
	generation      INTEGER NOT NULL,
	id              $KEY NOT NULL,
	sealed          $BYTES NOT NULL,
	signs_from      BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	PRIMARY KEY (algorithm, generation)
);

-- Who signed in and which tokens were exchanged. It has neither names nor secrets.
CREATE TABLE signin_log (
	id              $ID,
	at              BIGINT NOT NULL,
	event           TEXT NOT NULL,
	result          TEXT NOT NULL,
	issuer          TEXT NOT NULL,
	client          $KEY NOT NULL,      -- empty: none that is known
	user_id         $KEY NOT NULL,      -- empty: none that is known
	address         TEXT NOT NULL
);
CREATE INDEX signin_log_by_at ON signin_log (at);

-- Authorization requests that were refused, since their client or redirect URI is not known: counted, and bounded in number.
CREATE TABLE signin_refusals (
	id              $ID,
	client          $KEY NOT NULL,      -- as it was sent; empty: none that could be one
	known           BOOLEAN NOT NULL,
	reason          $KEY NOT NULL,
	redirect_uri    $KEY NOT NULL,      -- without query
	count           BIGINT NOT NULL,
	first_at        BIGINT NOT NULL,
	last_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX signin_refusals_by_client ON signin_refusals (client, reason, redirect_uri);
CREATE INDEX signin_refusals_by_time ON signin_refusals (last_at);

-- Accounts at another provider, and whose they are here.
CREATE TABLE upstream_accounts (
	issuer          $KEY NOT NULL,
	subject         $KEY NOT NULL,
	user_id         $KEY NOT NULL REFERENCES users (id),
	created_at      BIGINT NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX upstream_accounts_by_user ON upstream_accounts (user_id);

-- Who is signing in at another provider, by the hash of the state that they left with.
CREATE TABLE upstream_visits (
	hash            $BYTES PRIMARY KEY,
	request         $BYTES NOT NULL,    -- the authorization request to go on with, sealed with a key that is not in the database
	till            BIGINT NOT NULL,
	network         $KEY NOT NULL DEFAULT '' -- where somebody left from, so that one place does not fill the table
);
CREATE INDEX upstream_visits_by_till ON upstream_visits (till);
CREATE INDEX upstream_visits_by_network ON upstream_visits (network, till);

-- +goose Down
DROP TABLE upstream_visits;
DROP TABLE upstream_accounts;
DROP TABLE signin_refusals;
DROP TABLE signin_log;
DROP TABLE signing_keys;
DROP TABLE tokens;
DROP TABLE grants;
DROP TABLE consents;
DROP TABLE sessions;
DROP TABLE oauth_secrets;
DROP TABLE oauth_clients;
DROP TABLE users;
