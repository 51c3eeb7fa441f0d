-- +goose Up

-- The titles of the jobs of a service, as its feed had them last.
CREATE TABLE upstream_titles (
	tenant $KEY NOT NULL,
	job    $KEY NOT NULL,
	title  TEXT NOT NULL,
	PRIMARY KEY (tenant, job)
);
ALTER TABLE upstreams ADD COLUMN feed $BYTES; -- the hash of the address that the titles are of
ALTER TABLE upstreams ADD COLUMN feed_read_at BIGINT;
ALTER TABLE submissions ADD COLUMN title TEXT NOT NULL DEFAULT ''; -- of the job, when the application came

-- +goose Down
ALTER TABLE submissions DROP COLUMN title;
ALTER TABLE upstreams DROP COLUMN feed_read_at;
ALTER TABLE upstreams DROP COLUMN feed;
DROP TABLE upstream_titles;
