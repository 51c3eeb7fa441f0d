-- +goose Up
ALTER TABLE exports ADD COLUMN hops INTEGER NOT NULL DEFAULT 0; -- how many exports of ours it follows from

-- +goose Down
ALTER TABLE exports DROP COLUMN hops;
