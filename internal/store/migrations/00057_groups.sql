-- +goose Up

-- The groups of people, a line each: those that an administrator put them in, and <provider>/<group> of their company's.
ALTER TABLE users ADD COLUMN in_groups TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN upstream_groups TEXT NOT NULL DEFAULT '';

-- The groups whose people may sign in to an application, a line each; empty: everyone.
ALTER TABLE oauth_clients ADD COLUMN for_groups TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE oauth_clients DROP COLUMN for_groups;
ALTER TABLE users DROP COLUMN upstream_groups;
ALTER TABLE users DROP COLUMN in_groups;
