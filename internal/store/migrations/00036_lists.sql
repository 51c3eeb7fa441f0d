-- +goose Up

-- What lists of job applications are read from: those that are there, and the ids of those that were erased. Positions rise with
-- the time, and a tenant's in the order of commits.
CREATE TABLE application_list (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,
	stored          BIGINT,             -- its position when it was stored; NULL: it was erased
	changed         BIGINT NOT NULL,    -- that of its last change, or of its erasure
	candidate       $KEY NOT NULL,
	job             $KEY NOT NULL,
	step            $KEY NOT NULL,
	source          $KEY,               -- or its keyed hash; NULL: its answers were not read yet
	api_user        $KEY,               -- the name, case-folded, or its keyed hash
	PRIMARY KEY (tenant, id)
);
CREATE INDEX application_list_by_stored ON application_list (tenant, stored);
CREATE INDEX application_list_by_changed ON application_list (tenant, changed);
CREATE INDEX application_list_by_candidate ON application_list (tenant, candidate, stored);
CREATE INDEX application_list_by_job ON application_list (tenant, job, stored);
CREATE INDEX application_list_by_step ON application_list (tenant, step, stored);
CREATE INDEX application_list_by_source ON application_list (tenant, source, stored);
CREATE INDEX application_list_by_api_user ON application_list (tenant, api_user, stored);
CREATE INDEX application_list_erased ON application_list (changed) WHERE stored IS NULL;
CREATE INDEX application_list_unread ON application_list (tenant, id) WHERE source IS NULL;

-- The last position of each tenant, and the last one of an erased id that is not listed any more. A transaction that takes a
-- position holds the row until it ends.
CREATE TABLE application_positions (
	tenant          $KEY PRIMARY KEY,
	last            BIGINT NOT NULL,
	forgotten       BIGINT NOT NULL
);

-- A release from before this one inserts job applications that are not listed.
ALTER TABLE job_applications ADD COLUMN listed BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE job_applications SET listed = TRUE;
INSERT INTO application_list (tenant, id, stored, changed, candidate, job, step)
	SELECT tenant, id, created_at * 1024 + ROW_NUMBER() OVER (PARTITION BY tenant, created_at ORDER BY id) - 1,
		updated_at * 1024 + ROW_NUMBER() OVER (PARTITION BY tenant, updated_at ORDER BY id) - 1, candidate, job, step
	FROM job_applications WHERE listed;
INSERT INTO application_positions (tenant, last, forgotten)
	SELECT tenant, MAX(changed), 0 FROM application_list GROUP BY tenant;
CREATE INDEX job_applications_unlisted ON job_applications (tenant, id) WHERE NOT listed;
DROP INDEX job_applications_by_step;

-- +goose Down
CREATE INDEX job_applications_by_step ON job_applications (tenant, step, id);
DROP INDEX job_applications_unlisted;
ALTER TABLE job_applications DROP COLUMN listed;
DROP TABLE application_positions;
DROP TABLE application_list;
