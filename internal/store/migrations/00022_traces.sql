-- +goose Up

-- The header traceparent of an export's acceptance; NULL: the export has no trace.
ALTER TABLE exports ADD COLUMN traceparent TEXT;

-- +goose Down
ALTER TABLE exports DROP COLUMN traceparent;
