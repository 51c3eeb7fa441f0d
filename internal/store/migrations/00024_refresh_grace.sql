-- +goose Up
ALTER TABLE tokens ADD COLUMN repeated_at BIGINT; -- when a rotated refresh token was accepted once more; null: never

-- +goose Down
ALTER TABLE tokens DROP COLUMN repeated_at;
