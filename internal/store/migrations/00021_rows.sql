-- +goose Up

-- Redeliveries are deleted when they ended long ago.
CREATE INDEX redeliveries_ended ON redeliveries (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP INDEX redeliveries_ended;
