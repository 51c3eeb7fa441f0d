-- +goose Up
ALTER TABLE deliveries ADD COLUMN documents TEXT NOT NULL DEFAULT ''; -- the mode of its first attempt, and so of all; empty: none was made

-- +goose Down
ALTER TABLE deliveries DROP COLUMN documents;
