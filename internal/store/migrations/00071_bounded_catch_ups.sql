-- +goose Up

-- A catch-up comes to no export from this id on: somebody was shown how many there were; 0: it comes to all.
ALTER TABLE catch_ups ADD COLUMN before_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX catch_ups_asked ON catch_ups (tenant) WHERE asked;

-- +goose Down
DROP INDEX catch_ups_asked;
ALTER TABLE catch_ups DROP COLUMN before_id;
