-- +goose Up

-- What happened to exports and is not told yet. It is counted where it happens, in that transaction.
CREATE TABLE notification_counts (
	event           $KEY NOT NULL,
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,      -- empty: the event is about none
	count           BIGINT NOT NULL,    -- since it was told last
	since           BIGINT NOT NULL,    -- the first of these
	due_at          BIGINT,             -- when it is told; null: there is nothing to tell
	told_at         BIGINT NOT NULL,    -- when it was told last; 0: never
	PRIMARY KEY (event, tenant, integration)
);
CREATE INDEX notification_counts_due ON notification_counts (due_at) WHERE due_at IS NOT NULL;

-- The conditions of integrations, as they were told.
CREATE TABLE notification_conditions (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	event           $KEY NOT NULL,      -- that tells of its begin
	active          BOOLEAN NOT NULL,
	told_at         BIGINT NOT NULL,    -- when its begin was told last
	PRIMARY KEY (tenant, integration, event)
);

-- What is to be sent, to each subscriber by itself. A row is deleted once it was received, or given up.
CREATE TABLE notifications (
	id              $ID,
	message         $KEY NOT NULL,      -- the webhook-id
	subscriber      $KEY NOT NULL,      -- see hiring.Subscriber.ID
	event           $KEY NOT NULL,
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	body            TEXT NOT NULL,
	attempts        INTEGER NOT NULL,
	created_at      BIGINT NOT NULL,
	next_at         BIGINT NOT NULL,    -- of the next attempt; a node that makes one moves it on, so that no other does
	till            BIGINT NOT NULL
);
CREATE INDEX notifications_in_order ON notifications (subscriber, tenant, integration, id);
CREATE INDEX notifications_due ON notifications (next_at);
CREATE INDEX notifications_till ON notifications (till);

-- +goose Down
DROP TABLE notifications;
DROP TABLE notification_conditions;
DROP TABLE notification_counts;
