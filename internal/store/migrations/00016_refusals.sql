-- +goose Up
ALTER TABLE documents ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0; -- of its tries, those that count towards giving it up

-- +goose Down
ALTER TABLE documents DROP COLUMN refusals;
