-- +goose Up

-- The exports of a redelivery, in their order.
CREATE INDEX deliveries_of_redelivery ON deliveries (redelivery, export_id) WHERE redelivery IS NOT NULL;

-- +goose Down
DROP INDEX deliveries_of_redelivery;
