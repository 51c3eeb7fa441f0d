-- +goose Up

-- What came and was delivered in a quarter of an hour, and what waited. The rows without a tenant have what waited of all.
CREATE TABLE quarters (
	tenant          $KEY NOT NULL,
	quarter         BIGINT NOT NULL,    -- its begin
	received        BIGINT NOT NULL,    -- exports
	delivered       BIGINT NOT NULL,    -- attempts that were received
	waiting         BIGINT NOT NULL,    -- deliveries, at most
	oldest          BIGINT NOT NULL,    -- microseconds that the oldest of them waited, at most
	PRIMARY KEY (tenant, quarter)
);
CREATE INDEX quarters_in_order ON quarters (quarter);

-- +goose Down
DROP TABLE quarters;
