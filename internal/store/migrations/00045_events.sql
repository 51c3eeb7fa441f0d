-- +goose Up

-- What changed, for systems of a tenant's service that subscribe to it. Positions are those of the lists of job applications.
CREATE TABLE events (
	tenant          $KEY NOT NULL,
	position        BIGINT NOT NULL,
	type            $KEY NOT NULL,
	object          $KEY NOT NULL,      -- the id of a job application or a candidate, or a job board code
	sequence        BIGINT NOT NULL,    -- among the events of the job application, from 1; of others 0
	step_from       $KEY NOT NULL,      -- of a move; empty: none
	step_to         $KEY NOT NULL,
	at              BIGINT NOT NULL,
	PRIMARY KEY (tenant, position)
);
CREATE INDEX events_by_time ON events (at);
-- How many events of it there were.
ALTER TABLE application_list ADD COLUMN events BIGINT NOT NULL DEFAULT 0;
-- The position of the last event that was deleted.
ALTER TABLE application_positions ADD COLUMN untold BIGINT NOT NULL DEFAULT 0;

-- Who is sent the events of a tenant. data has the address and the secret.
CREATE TABLE event_subscriptions (
	tenant          $KEY NOT NULL,
	id              $KEY NOT NULL,
	data            $BYTES NOT NULL,
	version         BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	disabled        BOOLEAN NOT NULL,
	sent            BIGINT NOT NULL DEFAULT 0, -- the position of the last event that was received, or is not sent
	attempts        INTEGER NOT NULL DEFAULT 0, -- at the next event
	failing_since   BIGINT,             -- when the first of these was made; null: none was
	next_at         BIGINT NOT NULL DEFAULT 0, -- a node that sends moves it on, so that no other does
	PRIMARY KEY (tenant, id)
);

-- +goose Down
DROP TABLE event_subscriptions;
ALTER TABLE application_positions DROP COLUMN untold;
ALTER TABLE application_list DROP COLUMN events;
DROP TABLE events;
