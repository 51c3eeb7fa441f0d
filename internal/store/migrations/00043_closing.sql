-- +goose Up

-- When an open job closes by itself, in microseconds; 0: it does not, or it is closed.
ALTER TABLE jobs ADD COLUMN closes_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX jobs_closing ON jobs (closes_at) WHERE closes_at > 0;

-- +goose Down
DROP INDEX jobs_closing;
ALTER TABLE jobs DROP COLUMN closes_at;
