-- +goose Up

-- What the attempts at an integration came to in an hour. took_N counts those that took at most N ms, and longer than the one before.
CREATE TABLE integration_hours (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	hour            BIGINT NOT NULL,    -- its begin
	attempts        BIGINT NOT NULL,
	delivered       BIGINT NOT NULL,
	partner_fault   BIGINT NOT NULL,
	data_fault      BIGINT NOT NULL,
	our_fault       BIGINT NOT NULL,
	took_5          BIGINT NOT NULL,
	took_10         BIGINT NOT NULL,
	took_25         BIGINT NOT NULL,
	took_50         BIGINT NOT NULL,
	took_100        BIGINT NOT NULL,
	took_250        BIGINT NOT NULL,
	took_500        BIGINT NOT NULL,
	took_1000       BIGINT NOT NULL,
	took_2500       BIGINT NOT NULL,
	took_5000       BIGINT NOT NULL,
	took_10000      BIGINT NOT NULL,
	took_20000      BIGINT NOT NULL,
	PRIMARY KEY (tenant, integration, hour)
);
CREATE INDEX integration_hours_by_hour ON integration_hours (hour);

-- How the last attempts at an integration went.
CREATE TABLE integration_health (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	last_success_at BIGINT,
	recovered_at    BIGINT,             -- the last success after it had failed for a while
	failures        BIGINT NOT NULL,    -- since the last success, without those that the data was to blame for
	failing_since   BIGINT,             -- the first of them
	class           TEXT NOT NULL,      -- of the last one
	reason          TEXT NOT NULL,
	PRIMARY KEY (tenant, integration)
);

-- +goose Down
DROP TABLE integration_health;
DROP TABLE integration_hours;
