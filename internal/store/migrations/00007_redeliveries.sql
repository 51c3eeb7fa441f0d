-- +goose Up

-- Redeliveries of the exports of a range. The deliveries that one began name it (deliveries.redelivery).
CREATE TABLE redeliveries (
	id              $KEY PRIMARY KEY,
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	since           BIGINT NOT NULL,    -- of its exports, the time they were received at or after, and before
	until           BIGINT NOT NULL,
	mode            TEXT NOT NULL,
	outcome         TEXT NOT NULL,      -- of the last delivery of its exports; empty: any
	class           TEXT NOT NULL,      -- likewise
	status          INTEGER NOT NULL,   -- of the last attempt; 0: any
	rate            INTEGER NOT NULL,   -- exports a second
	state           TEXT NOT NULL,
	reason          TEXT NOT NULL,
	total           BIGINT NOT NULL,
	skipped         BIGINT NOT NULL,
	after_id        BIGINT NOT NULL,    -- of the last export that it came to
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	ended_at        BIGINT
);
CREATE INDEX redeliveries_by_tenant ON redeliveries (tenant, id);
CREATE INDEX redeliveries_running ON redeliveries (id) WHERE state = 'running';

-- +goose Down
DROP TABLE redeliveries;
