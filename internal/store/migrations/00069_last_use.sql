-- +goose Up

-- When an application last got something in a session; null: not since the sign-in.
ALTER TABLE sessions ADD COLUMN used_at BIGINT;

-- When somebody last signed in; null: not since a former version.
ALTER TABLE users ADD COLUMN last_sign_in BIGINT;

-- +goose Down
ALTER TABLE users DROP COLUMN last_sign_in;
ALTER TABLE sessions DROP COLUMN used_at;
