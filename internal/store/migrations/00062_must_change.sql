-- +goose Up

-- Whether somebody chooses another password at the next sign-in with the one that they were given.
ALTER TABLE users ADD COLUMN must_change BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE users DROP COLUMN must_change;
