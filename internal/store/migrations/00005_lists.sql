-- +goose Up

-- An index for each filter of the list of exports that begins with deliveries, ordered as the list is.
CREATE INDEX deliveries_of_integration ON deliveries (tenant, integration, export_id);
CREATE INDEX deliveries_of_all_by_outcome ON deliveries (outcome, export_id);

-- +goose Down
DROP INDEX deliveries_of_all_by_outcome;
DROP INDEX deliveries_of_integration;
