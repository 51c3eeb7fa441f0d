-- +goose Up

-- Partners that apply for jobs of a tenant. A user name is an e-mail address, compared with its letters' case folded; it belongs
-- to one tenant among all.
CREATE TABLE api_users (
	id              $KEY PRIMARY KEY,
	tenant          $KEY NOT NULL,
	user_name       TEXT NOT NULL,
	folded          $KEY NOT NULL,
	password        TEXT NOT NULL,      -- argon2id in PHC form
	created_at      BIGINT NOT NULL,
	disabled_at     BIGINT
);
CREATE UNIQUE INDEX api_users_by_name ON api_users (folded);
CREATE INDEX api_users_by_tenant ON api_users (tenant, id);

-- Their tokens, by hash. A token that is revoked has no row.
CREATE TABLE api_tokens (
	hash            $BYTES PRIMARY KEY,
	user_id         $KEY NOT NULL REFERENCES api_users (id),
	issued_at       BIGINT NOT NULL,
	till            BIGINT NOT NULL
);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id);
CREATE INDEX api_tokens_by_till ON api_tokens (till);

-- What was answered with a job application, as JSON behind a byte that says how it is written (1: as it is).
CREATE TABLE application_answers (
	tenant          $KEY NOT NULL,
	application     $KEY NOT NULL,
	data            $BYTES NOT NULL,
	PRIMARY KEY (tenant, application)
);

-- What was answered to the questions of compliance groups: read by nothing but the report, which counts the choices.
CREATE TABLE compliance_answers (
	tenant          $KEY NOT NULL,
	application     $KEY NOT NULL,
	question        $KEY NOT NULL,
	job             $KEY NOT NULL,
	compliance      $KEY NOT NULL,      -- the group
	choice          BOOLEAN NOT NULL,   -- it is one of the question's options
	value           $BYTES NOT NULL,
	answered_at     BIGINT NOT NULL,
	PRIMARY KEY (tenant, application, question)
);
CREATE INDEX compliance_answers_by_job ON compliance_answers (tenant, job, compliance, question);

-- Files of applications that are not taken yet. Its file goes with a row that outlives its request.
CREATE TABLE uploads (
	blob            $KEY PRIMARY KEY,
	begun_at        BIGINT NOT NULL
);
CREATE INDEX uploads_by_time ON uploads (begun_at, blob);

-- Of open jobs: whether the feed has them, and how many questions for a file they ask.
ALTER TABLE jobs ADD COLUMN feed $KEY NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_by_feed ON jobs (tenant, feed, id);
CREATE INDEX jobs_by_files ON jobs (tenant, files);

-- +goose Down
DROP INDEX jobs_by_files;
DROP INDEX jobs_by_feed;
ALTER TABLE jobs DROP COLUMN files;
ALTER TABLE jobs DROP COLUMN feed;
DROP TABLE uploads;
DROP TABLE compliance_answers;
DROP TABLE application_answers;
DROP TABLE api_tokens;
DROP TABLE api_users;
