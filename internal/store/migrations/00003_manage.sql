-- +goose Up

-- Keys of the management API. A key is found by its SHA-256, and kept in no other form.
CREATE TABLE api_keys (
	id              $KEY PRIMARY KEY,
	hash            $BYTES NOT NULL,
	label           TEXT NOT NULL,
	tenant          $KEY NOT NULL,      -- the only one it opens; empty: all of them
	role            TEXT NOT NULL,
	created_at      BIGINT NOT NULL,
	revoked_at      BIGINT,
	last_used_at    BIGINT
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant, id);

-- Requests that carried an Idempotency-Key. The answer is sealed: the request that asked can open it, nobody else.
CREATE TABLE idempotency (
	id              $BYTES PRIMARY KEY, -- who asked for what, and the key, hashed
	fingerprint     $BYTES NOT NULL,    -- of what was sent
	location        TEXT NOT NULL,      -- of what the request made, written with it; empty: nothing yet
	lease           BIGINT NOT NULL,    -- nothing made by then: whoever asks again takes it over
	till            BIGINT NOT NULL     -- kept until
);
CREATE INDEX idempotency_by_till ON idempotency (till);

-- +goose Down
DROP TABLE idempotency;
DROP TABLE api_keys;
