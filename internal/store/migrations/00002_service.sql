-- +goose Up

-- What is made through the management API. The version of directory rises with each change of a tenant or an integration, so
-- that every node knows when to read them anew.
CREATE TABLE directory (
	id              INTEGER PRIMARY KEY,
	version         BIGINT NOT NULL
);
INSERT INTO directory (id, version) VALUES (1, 0);

CREATE TABLE tenants (
	name            $KEY PRIMARY KEY,
	title           TEXT NOT NULL,
	secrets         $BYTES NOT NULL,    -- a JSON array
	quarantine      BOOLEAN NOT NULL,
	rate            DOUBLE PRECISION,   -- exports a second; null: no limit
	burst           INTEGER,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL
);

CREATE TABLE integrations (
	tenant              $KEY NOT NULL REFERENCES tenants (name),
	name                $KEY NOT NULL,
	url                 $BYTES NOT NULL, -- behind a byte that says how it is written (1: as it is)
	secret              $BYTES NOT NULL,
	former_secret       $BYTES,         -- signs beside secret during a rotation; null: there is none
	documents           TEXT NOT NULL,
	standard_webhooks   BOOLEAN NOT NULL,
	in_flight           INTEGER NOT NULL,
	retry               TEXT NOT NULL,  -- gaps, as Go durations separated by spaces; empty: the default schedule
	version             BIGINT NOT NULL,
	created_at          BIGINT NOT NULL,
	updated_at          BIGINT NOT NULL,
	PRIMARY KEY (tenant, name)
);

-- The resources of a tenant: what lists filter by in columns of its own, all of it as JSON in data, behind a byte that says how
-- it is written (1: as it is).
CREATE TABLE candidates (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,
	email           $KEY NOT NULL,      -- the first one, case-folded
	data            $BYTES NOT NULL,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);
CREATE INDEX candidates_by_email ON candidates (tenant, email, id);

CREATE TABLE jobs (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,      -- the job board code
	job             $KEY NOT NULL,      -- the Job id
	data            $BYTES NOT NULL,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	feed            $KEY NOT NULL DEFAULT '', -- whether the feed has it
	files           INTEGER NOT NULL DEFAULT 0, -- how many questions for a file it asks, while it is open
	position        $BYTES,             -- data without what it asks: a hundred jobs may ask 400 MiB
	PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX jobs_by_job ON jobs (tenant, job);
-- With all that the state of the feed is made of.
CREATE INDEX jobs_by_feed ON jobs (tenant, feed, id, version, updated_at);
CREATE INDEX jobs_by_files ON jobs (tenant, files);
CREATE VIEW positions AS SELECT tenant, id, feed, version, created_at, updated_at, COALESCE(position, data) AS data FROM jobs;

CREATE TABLE steps (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,
	data            $BYTES NOT NULL,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE TABLE job_applications (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,
	candidate       $KEY NOT NULL,
	job             $KEY NOT NULL,      -- its job board code
	step            $KEY NOT NULL,
	data            $BYTES NOT NULL,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);
CREATE INDEX job_applications_by_candidate ON job_applications (tenant, candidate, id);
CREATE INDEX job_applications_by_job ON job_applications (tenant, job, id);
CREATE INDEX job_applications_by_step ON job_applications (tenant, step, id);

CREATE TABLE transitions (
	id              $ROWID,             -- rises with the time
	tenant          $KEY NOT NULL,
	application     $KEY NOT NULL,
	step            $KEY NOT NULL,
	name            TEXT NOT NULL,
	category        TEXT NOT NULL,
	entered_at      BIGINT NOT NULL,
	export          $KEY NOT NULL       -- the UUID of the export that a helper triggered; empty: none
);
CREATE INDEX transitions_by_application ON transitions (tenant, application, id);

CREATE TABLE application_documents (
	key             $ROWID,             -- rises with the time
	tenant          $KEY NOT NULL,
	application     $KEY NOT NULL,
	id              $KEY NOT NULL,
	descriptions    TEXT NOT NULL,      -- a JSON array
	file_name       TEXT NOT NULL,
	media_type      TEXT NOT NULL,
	blob            $KEY NOT NULL,
	sha256          $BYTES NOT NULL,
	size            BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	scan            $KEY NOT NULL DEFAULT '', -- pending, clean or refused; empty: nobody was asked
	finding         TEXT NOT NULL DEFAULT '', -- why it was refused, in the scanner's words
	scan_at         BIGINT              -- when its scan is to be started, or started again
);
CREATE UNIQUE INDEX application_documents_by_id ON application_documents (tenant, application, id);
CREATE INDEX application_documents_by_application ON application_documents (tenant, application, key);
CREATE INDEX application_documents_by_scan ON application_documents (scan_at, key) WHERE scan = 'pending';
CREATE INDEX application_documents_by_blob ON application_documents (blob);

-- +goose Down
DROP TABLE application_documents;
DROP TABLE transitions;
DROP TABLE job_applications;
DROP TABLE steps;
DROP VIEW positions;
DROP TABLE jobs;
DROP TABLE candidates;
DROP TABLE integrations;
DROP TABLE tenants;
DROP TABLE directory;
