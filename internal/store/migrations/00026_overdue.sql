-- +goose Up

ALTER TABLE waiting ADD COLUMN overdue BIGINT NOT NULL DEFAULT 0; -- deliveries whose next step should have been made

-- +goose Down
ALTER TABLE waiting DROP COLUMN overdue;
