-- +goose Up

-- Who asked for a delivery's round, and for the redelivery of a range: the actor, as the audit has them. Empty: nobody
-- did, the export came or was triggered.
ALTER TABLE deliveries ADD COLUMN begun_by TEXT NOT NULL DEFAULT '';
ALTER TABLE redeliveries ADD COLUMN begun_by TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE redeliveries DROP COLUMN begun_by;
ALTER TABLE deliveries DROP COLUMN begun_by;
