-- +goose Up

-- What the last attempt brought: a status such as 503, a class such as 5xx, or none; empty: any. It takes the place of status, which
-- is -1 where a gateway of an earlier release can't choose so: it begins nothing then.
ALTER TABLE redeliveries ADD COLUMN answered TEXT NOT NULL DEFAULT '';
UPDATE redeliveries SET answered = CAST(status AS TEXT) WHERE status > 0;

-- How many attempts there were at least.
ALTER TABLE redeliveries ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE redeliveries DROP COLUMN attempts;
ALTER TABLE redeliveries DROP COLUMN answered;
