-- +goose Up

-- Applications on their way through this gateway to the Apply API of a service.
CREATE TABLE submissions (
	key          BIGINT PRIMARY KEY,
	tenant       $KEY NOT NULL,
	id           $KEY NOT NULL,
	job          $KEY NOT NULL,
	state        $KEY NOT NULL,
	attempts     BIGINT NOT NULL,
	reason       TEXT NOT NULL, -- sentences for people, without personal data
	noted        TEXT NOT NULL,
	uncertain    BOOLEAN NOT NULL,
	acknowledged BOOLEAN NOT NULL, -- a repeat was told that it is stored
	content      $BYTES, -- answers, sealed; NULL: erased
	email        $KEY NOT NULL, -- what it is found by, hashed where content is sealed
	received_at  BIGINT NOT NULL,
	next_at      BIGINT,
	leased_till  BIGINT, -- an attempt is under way
	lease        $KEY NOT NULL,
	try_until    BIGINT NOT NULL,
	ended_at     BIGINT,
	erased_at    BIGINT
);
CREATE UNIQUE INDEX submissions_by_id ON submissions (tenant, id);
CREATE INDEX submissions_by_state ON submissions (tenant, state, key);
CREATE INDEX submissions_by_email ON submissions (tenant, email) WHERE email <> '';
CREATE INDEX submissions_due ON submissions (tenant, next_at, key) WHERE state = 'waiting';
CREATE INDEX submissions_counted ON submissions (tenant, state, received_at) WHERE erased_at IS NULL;
CREATE INDEX submissions_kept ON submissions (ended_at, key) WHERE erased_at IS NULL AND ended_at IS NOT NULL;

CREATE TABLE submission_files (
	submission   BIGINT NOT NULL,
	blob         $KEY NOT NULL,
	PRIMARY KEY (submission, blob)
);
CREATE INDEX submission_files_by_blob ON submission_files (blob);

-- What the jobs of a service ask, as it said last.
CREATE TABLE upstream_questions (
	tenant       $KEY NOT NULL,
	job          $KEY NOT NULL,
	questions    $BYTES, -- NULL: the service has no such job
	read_at      BIGINT NOT NULL,
	PRIMARY KEY (tenant, job)
);

-- The token of each service, sealed, and what went wrong with it last.
CREATE TABLE upstreams (
	tenant       $KEY PRIMARY KEY,
	token        $BYTES,
	setting      $BYTES, -- of what the token is: another address or user has another token
	signed_in_at BIGINT, -- when a token was asked for last
	slow_until   BIGINT, -- the service asked for that
	fault        TEXT NOT NULL, -- a sentence for people; empty: it accepts
	fault_since  BIGINT
);

-- +goose Down
DROP TABLE upstreams;
DROP TABLE upstream_questions;
DROP TABLE submission_files;
DROP TABLE submissions;
