-- +goose Up

-- Who did it, as they were called then. These are names and addresses of staff and partners: see docs/security.md.
ALTER TABLE audit ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN email TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN claimed BOOLEAN NOT NULL DEFAULT FALSE; -- the name is of an operating system's user

-- +goose Down
ALTER TABLE audit DROP COLUMN claimed;
ALTER TABLE audit DROP COLUMN email;
ALTER TABLE audit DROP COLUMN name;
