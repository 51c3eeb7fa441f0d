-- +goose Up

-- What is held is looked through every ten seconds, parked or not.
DROP INDEX deliveries_parked;
CREATE INDEX deliveries_held ON deliveries (tenant, integration, export_id) WHERE held_since IS NOT NULL;

-- +goose Down
DROP INDEX deliveries_held;
CREATE INDEX deliveries_parked ON deliveries (tenant, integration) WHERE parked;
