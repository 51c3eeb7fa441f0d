-- +goose Up
ALTER TABLE integration_states ADD COLUMN removed_at BIGINT; -- when one of this name was removed last; null: never
UPDATE integration_states SET removed_at = updated_at WHERE state = 'removed';

-- +goose Down
ALTER TABLE integration_states DROP COLUMN removed_at;
