-- +goose Up

-- Where somebody left from, so that one place does not fill the table.
ALTER TABLE upstream_visits ADD COLUMN network $KEY NOT NULL DEFAULT '';
CREATE INDEX upstream_visits_by_network ON upstream_visits (network, till);

-- +goose Down
DROP INDEX upstream_visits_by_network;
ALTER TABLE upstream_visits DROP COLUMN network;
