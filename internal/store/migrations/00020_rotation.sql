-- +goose Up

-- Since when an integration has a former secret; NULL: it has none, or it began before this column.
ALTER TABLE integrations ADD COLUMN rotated_at BIGINT;

-- +goose Down
ALTER TABLE integrations DROP COLUMN rotated_at;
