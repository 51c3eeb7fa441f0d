-- +goose Up

-- Partners that apply for jobs of a tenant. A user name is an e-mail address, compared with its letters' case folded. Another
-- tenant may have a user of the same name: whoever names one must not learn that it is there.
CREATE TABLE api_users (
	id              $KEY PRIMARY KEY,
	tenant          $KEY NOT NULL,
	user_name       TEXT NOT NULL,
	folded          $KEY NOT NULL,
	password        TEXT NOT NULL,      -- argon2id in PHC form
	created_at      BIGINT NOT NULL,
	disabled_at     BIGINT
);
CREATE UNIQUE INDEX api_users_by_name ON api_users (folded, tenant);
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

-- How many answers were refused in an hour, by the question of a job and its format. Nothing of the answers is here.
CREATE TABLE answer_refusals (
	tenant          $KEY NOT NULL,
	job             $KEY NOT NULL,
	question        $KEY NOT NULL,      -- empty: one that the job does not ask
	format          $KEY NOT NULL,
	hour            BIGINT NOT NULL,
	count           BIGINT NOT NULL,
	PRIMARY KEY (tenant, job, question, format, hour)
);
CREATE INDEX answer_refusals_by_hour ON answer_refusals (hour);

-- Files of applications that are not taken yet. Its file goes with a row that outlives its request.
CREATE TABLE uploads (
	blob            $KEY PRIMARY KEY,
	begun_at        BIGINT NOT NULL
);
CREATE INDEX uploads_by_time ON uploads (begun_at, blob);

-- +goose Down
DROP TABLE uploads;
DROP TABLE answer_refusals;
DROP TABLE compliance_answers;
DROP TABLE application_answers;
DROP TABLE api_tokens;
DROP TABLE api_users;
