-- +goose Up

-- Whether a job application is open and could not enter its first step.
ALTER TABLE job_applications ADD COLUMN unentered BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX job_applications_unentered ON job_applications (tenant, created_at) WHERE unentered;
ALTER TABLE application_list ADD COLUMN unentered BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX application_list_by_unentered ON application_list (tenant, unentered, stored) WHERE unentered;

-- The id of the job application that one is a further version of; empty: it is none. Versions are in no list.
ALTER TABLE job_applications ADD COLUMN version_of $KEY NOT NULL DEFAULT '';
CREATE INDEX job_applications_by_first ON job_applications (tenant, version_of, id) WHERE version_of <> '';

ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT ''; -- a sentence for people, without personal data

-- +goose Down
ALTER TABLE audit DROP COLUMN detail;
DROP INDEX job_applications_by_first;
ALTER TABLE job_applications DROP COLUMN version_of;
DROP INDEX application_list_by_unentered;
ALTER TABLE application_list DROP COLUMN unentered;
DROP INDEX job_applications_unentered;
ALTER TABLE job_applications DROP COLUMN unentered;
