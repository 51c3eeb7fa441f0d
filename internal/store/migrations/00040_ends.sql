-- +goose Up

-- How a job application ended; empty: it is open. Releases from before this one end none.
ALTER TABLE job_applications ADD COLUMN ended $KEY NOT NULL DEFAULT '';
ALTER TABLE application_list ADD COLUMN ended $KEY NOT NULL DEFAULT '';
CREATE INDEX application_list_by_ended ON application_list (tenant, ended, stored);

-- +goose Down
DROP INDEX application_list_by_ended;
ALTER TABLE application_list DROP COLUMN ended;
ALTER TABLE job_applications DROP COLUMN ended;
