-- +goose Up

-- The last attempts of a submission, as JSON: when, the status of the answer, how long. Nothing of the applicant; empty: none.
ALTER TABLE submissions ADD COLUMN last_attempts TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE submissions DROP COLUMN last_attempts;
