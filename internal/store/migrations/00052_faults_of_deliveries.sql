-- +goose Up

-- The few deliveries whose last attempt had a fault: a list of a class and an outcome reads no others.
CREATE INDEX deliveries_at_fault ON deliveries (outcome, fault, export_id) WHERE fault <> '';
CREATE INDEX deliveries_at_fault_of_tenant ON deliveries (tenant, outcome, fault, export_id) WHERE fault <> '';

-- +goose Down
DROP INDEX deliveries_at_fault_of_tenant;
DROP INDEX deliveries_at_fault;
