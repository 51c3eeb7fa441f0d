-- +goose Up

-- Exports that Temporal refused, or that had nobody to go to, are few, and a person has to look at each.
CREATE INDEX exports_faulty ON exports (tenant, received_at) WHERE fault <> '';

-- +goose Down
DROP INDEX exports_faulty;
