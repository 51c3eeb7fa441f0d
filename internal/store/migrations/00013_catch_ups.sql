-- +goose Up

-- What makes the deliveries due that wait for their next attempt at an integration, and how far the last one came.
CREATE TABLE catch_ups (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	began_at        BIGINT NOT NULL,
	asked           BOOLEAN NOT NULL,   -- an operator asked for it
	after_id        BIGINT NOT NULL,    -- of the last export that it came to
	received        BIGINT NOT NULL,
	failed          BIGINT NOT NULL,
	reason          TEXT NOT NULL,
	claimed_till    BIGINT NOT NULL,    -- until then a node works on it
	ended_at        BIGINT,
	PRIMARY KEY (tenant, integration)
);
CREATE INDEX catch_ups_running ON catch_ups (claimed_till) WHERE ended_at IS NULL;

-- +goose Down
DROP TABLE catch_ups;
