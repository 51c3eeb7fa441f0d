-- +goose Up

-- When a session at a console or a gate was used last, to about a quarter of an hour; null: not since this column is here.
ALTER TABLE console_sessions ADD COLUMN used_at BIGINT;

-- +goose Down
ALTER TABLE console_sessions DROP COLUMN used_at;
