-- +goose Up

-- A job without what it asks, as exports and the feed have it: a hundred jobs may ask 400 MiB. As data is; null: it was put before there
-- was this.
ALTER TABLE jobs ADD COLUMN position $BYTES;
CREATE VIEW positions AS SELECT tenant, id, feed, version, created_at, updated_at, COALESCE(position, data) AS data FROM jobs;

-- With all that the state of the feed is made of.
DROP INDEX jobs_by_feed;
CREATE INDEX jobs_by_feed ON jobs (tenant, feed, id, version, updated_at);

-- +goose Down
DROP INDEX jobs_by_feed;
CREATE INDEX jobs_by_feed ON jobs (tenant, feed, id);
DROP VIEW positions;
ALTER TABLE jobs DROP COLUMN position;
