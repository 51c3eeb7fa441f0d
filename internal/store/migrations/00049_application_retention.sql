-- +goose Up

-- From when the retention of a job application counts, and until when its applicant agreed to be kept; 0: they did not. NULL:
-- a release from before this one wrote it, and it is found out later.
ALTER TABLE job_applications ADD COLUMN kept_from BIGINT;
ALTER TABLE job_applications ADD COLUMN keep_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE application_list ADD COLUMN kept_from BIGINT;
ALTER TABLE application_list ADD COLUMN keep_until BIGINT NOT NULL DEFAULT 0;
CREATE INDEX application_list_by_kept ON application_list (tenant, kept_from, id) WHERE stored IS NOT NULL;
CREATE INDEX application_list_unkept ON application_list (tenant, id) WHERE kept_from IS NULL AND stored IS NOT NULL;

-- For how many days a job's applications are kept; 0: as the tenant's.
ALTER TABLE jobs ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_kept ON jobs (tenant, id) WHERE kept > 0;

-- For how long job applications are kept, in microseconds: those of a job, or all others of the tenant (job is empty).
CREATE TABLE application_retention (
	tenant          $KEY NOT NULL,
	job             $KEY NOT NULL,
	kept            BIGINT NOT NULL,
	former          BIGINT NOT NULL,    -- what holds before effective_at; 0: for ever
	effective_at    BIGINT NOT NULL,
	announced       BIGINT NOT NULL DEFAULT 0, -- how many job applications of the tenant are erased up to then
	PRIMARY KEY (tenant, job)
);

-- +goose Down
DROP TABLE application_retention;
DROP INDEX jobs_kept;
ALTER TABLE jobs DROP COLUMN kept;
DROP INDEX application_list_unkept;
DROP INDEX application_list_by_kept;
ALTER TABLE application_list DROP COLUMN keep_until;
ALTER TABLE application_list DROP COLUMN kept_from;
ALTER TABLE job_applications DROP COLUMN keep_until;
ALTER TABLE job_applications DROP COLUMN kept_from;
