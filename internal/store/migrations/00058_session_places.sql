-- +goose Up

-- Where a session began, for the person whose it is; empty: a former version began it.
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sessions DROP COLUMN browser;
ALTER TABLE sessions DROP COLUMN address;
