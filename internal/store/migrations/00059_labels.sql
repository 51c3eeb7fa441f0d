-- +goose Up

-- The labels of a tenant, as words such as region=north between blanks.
ALTER TABLE tenants ADD COLUMN labels TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN labels;
